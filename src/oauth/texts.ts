import type { ScopeName } from '../model/scopes.js'

/** Everything that the pages say, in one place for those who translate. */
export const TEXTS = {
  language: 'en',
  product: 'Starling',
  skip: 'Skip to the content',
  farReaching: 'Far-reaching:',
  navigation: 'Your account',
  signedInAs: (email: string) => `Signed in as ${email}`,

  /** What a person is told of each scope. */
  scopes: {
    'files.read': 'See your folders and download your files.',
    'files.write': 'Create, upload, rename, move and delete your files and folders.',
    'files.appdata': 'Keep its own data in a folder of its own in your account.',
    'user.read': 'See names and e-mail addresses, yours and those of your colleagues.',
    'user.write': 'Change your name.',
    'user.password': 'Change or reset your password.',
    'acl.read': 'See your shared folders and who is in them.',
    'acl.write': 'Create shared folders and decide who is in them.',
    'acl.invitations': 'See, accept and ignore your invitations to shared folders.',
    'groups.read': 'See the groups of your organization.',
    'organization.admin': 'Manage the users, shared folders and content of your organization.',
  } satisfies Record<ScopeName, string>,

  nav: {
    account: 'Account',
    password: 'Password',
    secondFactor: 'Second factor',
    apps: 'Applications',
    tokens: 'Access tokens',
    sessions: 'Sessions',
    adminApps: 'All applications',
  },

  buttons: {
    signIn: 'Sign in',
    signOut: 'Sign out',
    signOutEverywhere: 'Sign out everywhere',
    continue: 'Continue',
    allow: 'Allow',
    deny: 'Deny',
    save: 'Save',
    revoke: 'Revoke',
    end: 'End',
    signUp: 'Sign up',
    sendLink: 'Send a link',
    sendMail: 'Send a mail',
    setPassword: 'Set the password',
    turnOn: 'Turn on',
    turnOff: 'Turn off',
    newCodes: 'Make new codes',
    makeToken: 'Make a token',
    register: 'Register',
    renewSecret: 'Make a new secret',
    download: 'Download appconfig.json',
    remove: 'Remove',
    setUp: 'Make the first account',
  },

  fields: {
    email: 'E-mail address',
    password: 'Password',
    newPassword: 'New password',
    currentPassword: 'Current password',
    remember: 'Stay signed in on this device',
    code: 'Code',
    firstName: 'First name',
    lastName: 'Last name',
    signUpCode: 'Sign-up code',
    resetCode: 'Code from the mail',
    tokenName: 'Name',
    tokenScopes: 'Permissions',
    tokenDays: 'Ends after how many days',
    appName: 'Name',
    appDescription: 'Description',
    appRedirects: 'Redirect addresses, one a line',
    appPublic: 'Public: it cannot keep a secret (an application on a phone or in a browser)',
    appLifetime: 'Life of its tokens in seconds',
  },

  hints: {
    passwordMin: (characters: number) => `At least ${characters} characters.`,
    code: 'Six digits from your authenticator, or one of your recovery codes.',
    firstCode: 'Six digits from your authenticator.',
    tokenName: 'What the token is for, so that you know it again.',
    tokenDays: 'A whole number from 1 to 36500. Leave it empty for a token that does not end.',
    appLifetime: '31536000 is a year; 0 is for ever.',
    redirects: 'https, http on this machine (loopback), or a scheme of the application’s own.',
  },

  signIn: {
    title: 'Sign in',
    continueTo: (name: string) => `to continue to ${name}`,
    wrong: 'The address or the password is not right. Check both and try again.',
    forgot: 'Forgot your password?',
    signUp: 'Sign up',
    over: 'You were not signed in in time, or gave too many wrong codes. Start again.',
    passwordIsSet: 'Your new password is set. Sign in with it.',
    signedOut: 'You are signed out.',
  },

  secondFactor: {
    title: 'Second factor',
    asked: 'Your account is protected by a second factor. Type the code that your authenticator shows now.',
    wrong: 'This code is not right, or it was used before. Wait for the next one and try again.',
    isOn: 'Your account is protected: signing in asks for a code of your authenticator.',
    isOff: 'A second factor protects your account when somebody gets to know your password.',
    left: (codes: number) =>
      codes === 1 ? 'You have 1 recovery code left.' : `You have ${codes} recovery codes left.`,
    scan: 'Scan this picture with an authenticator application, or type the key into it. Then type the code that it shows.',
    key: 'Key',
    keyMissing: 'The key is missing. Go back, reload the page and start again.',
    picture: 'A picture that authenticator applications read',
    codesTitle: 'Your recovery codes',
    codes:
      'Keep these codes in a safe place. Each of them works once, when your authenticator is out of reach. They are shown this once.',
    done: 'I have kept them',
    turnOffTitle: 'Turn the second factor off',
    turnedOff: 'The second factor is off. Signing in asks for your password alone.',
    newCodesTitle: 'New recovery codes',
    newCodes: 'The old ones no longer work then.',
  },

  consent: {
    title: (name: string) => `Allow ${name} access?`,
    asks: (name: string) => `The application ${name} asks for access to your account:`,
    choose: 'Untick what it shall not have.',
    limited: (name: string) => `Only in “${name}” and below.`,
    unseen: 'Only in something that you cannot see: this gives no access.',
    leads: (where: string) => `Afterwards you are led to ${where}.`,
    expired: 'This page was open for too long. Start again from the application.',
    spent: 'This page was answered already. Start again from the application.',
  },

  account: {
    title: 'Your account',
    name: 'Your name',
    saved: 'Saved.',
    passwordTitle: 'Change your password',
    passwordSaved: 'Your new password is set. You are signed out everywhere else.',
    passwordWrong: 'The current password is not right.',
    external: 'Your password is kept by your organization’s directory. Change it there.',
  },

  apps: {
    title: 'Applications with access to your account',
    none: 'You have not given any application access.',
    about: 'An application keeps its access until it ends or you revoke it.',
  },

  tokens: {
    title: 'Personal access tokens',
    about: 'For scripts and programs of your own. Whoever has a token can do what it permits.',
    none: 'You have no personal access token.',
    make: 'Make a token',
    wrongDays: 'A token ends after 1 to 36500 whole days, or not at all: then leave the field empty.',
    made: 'Your new token. Copy it now: it is shown this once.',
    back: 'I have copied it',
  },

  sessions: {
    title: 'Where you are signed in',
    current: 'This browser',
    unknownAgent: 'A browser that says nothing of itself',
    everywhere: 'Ends every session, this one too.',
  },

  facts: {
    permissions: 'Permissions',
    since: 'Since',
    lastUse: 'Last use',
    ends: 'Ends',
    never: 'never',
    address: 'Address',
    clientId: 'Client ID',
    redirects: 'Redirect addresses',
    kind: 'Kind',
    public: 'public',
    confidential: 'confidential',
    lifetime: 'Life of tokens',
    seconds: (number: number) => {
      if (number === 0) return 'for ever'
      return number % 86_400 === 0 ? `${number / 86_400} days` : `${number} seconds`
    },
  },

  adminApps: {
    title: 'Registered applications',
    none: 'No application is registered.',
    register: 'Register an application',
    secretTitle: 'The secret of the application',
    secret: 'Copy it now: it is shown this once.',
    noSecret: 'A public application has no secret.',
    back: 'Back to the application',
    settings: 'Settings',
    secretForm: 'Secret',
    secretAbout: 'A new secret ends the one before at once. The download has a new one too.',
    wrongLifetime: 'The life of tokens is a whole number of seconds; 0 is for ever.',
    removeTitle: 'Remove the application',
    removeAbout: 'Its tokens end at once, for everybody.',
    removeConfirm: 'Yes, remove it',
    removeUnconfirmed: 'The application was not removed: tick the box below if you mean it.',
    saved: 'Saved.',
  },

  signUp: {
    title: 'Sign up',
    as: (email: string) => `You sign up as ${email}.`,
    askForCode: 'You need an invitation. Type the sign-up code that you were given.',
    askForAddress: 'We send a mail to your address first, so that nobody else can sign up with it.',
    withCode: 'With a sign-up code',
    withCodeAbout: 'If you were given one, or if a mail from us has one.',
    sent: 'A mail is on its way to this address. It says how to go on.',
  },

  signUpMail: {
    subject: 'Signing up for Starling',
    body: (link: string, lifetimeMs: number) =>
      `Somebody, probably you, wants to sign up for Starling with this address.\n\nGo on here within ${span(lifetimeMs)}:\n\n${link}\n\nIf it was not you, there is nothing to do: nothing is made without you.\n`,
    withoutLink: (code: string, lifetimeMs: number) =>
      `Somebody, probably you, wants to sign up for Starling with this address.\n\nOpen the page /sign-up of your Starling and type this sign-up code within ${span(lifetimeMs)}:\n\n${code}\n\nIf it was not you, there is nothing to do: nothing is made without you.\n`,
    known:
      'Somebody, probably you, wanted to sign up for Starling with this address.\n\nYou have an account with it already: sign in, or set a new password if you forgot the old one.\n\nIf it was not you, there is nothing to do: your account stays as it is.\n',
    invited:
      'Somebody, probably you, wanted to sign up for Starling with this address.\n\nYou were invited already: sign up with the code of your invitation.\n\nIf it was not you, there is nothing to do.\n',
    external:
      'Somebody, probably you, wanted to sign up for Starling with this address.\n\nYou need not: sign in with the password that you use in your organization.\n\nIf it was not you, there is nothing to do.\n',
  },

  forgot: {
    title: 'Forgot your password?',
    about: 'We send a link to the address of your account. With it you set a new password.',
    sent: 'If there is an account with this address, a mail is on its way to it.',
  },

  reset: {
    title: 'Set a new password',
    wrongCode: 'This link does not work any more. Links work once and for a limited time; ask for a new one.',
    again: 'Ask for a new link',
  },

  resetMail: {
    subject: 'Your password for Starling',
    body: (link: string, lifetimeMs: number) =>
      `Somebody, probably you, asked for a new password for your account.\n\nSet it here within ${span(lifetimeMs)}:\n\n${link}\n\nIf it was not you, there is nothing to do: your password stays as it is.\n`,
    withoutLink: (code: string, lifetimeMs: number) =>
      `Somebody, probably you, asked for a new password for your account.\n\nOpen the page /reset of your Starling and type this code within ${span(lifetimeMs)}:\n\n${code}\n\nIf it was not you, there is nothing to do: your password stays as it is.\n`,
    external:
      'Somebody, probably you, asked for a new password for your account.\n\nYour password is kept by your organization’s directory. Those who run it can give you a new one.\n',
  },

  setUp: {
    title: 'Welcome to Starling',
    about: 'Make the first account. It is an admin of the organization.',
    wrongCode:
      'This link does not work any more. Restart the server for a new one, as long as there is no account.',
  },

  errors: {
    badArgs: 'That does not work',
    unauthorized: 'Sign in first',
    forbidden: 'You may not do this',
    notFound: 'There is nothing here',
    conflict: 'That does not work',
    tooManyRequests: 'Too many attempts',
    unavailable: 'Not at this moment',
    other: 'Something went wrong',
    forgedForm:
      'This form is out of date or did not come from this site. Go back, reload the page and try again.',
    wait: (seconds: number) =>
      seconds === 1 ? 'Wait a second and try again.' : `Wait ${seconds} seconds and try again.`,
    appToBlame: 'The application sent you here with a wrong request. Tell those who made it.',
    home: 'Go to your account',
    adminsOnly: 'This page is for the admins of the organization. Ask one of them.',
    unexplained: 'That did not work. Go back and try again.',
  },

  /** What to do about a refusal of which no more is known than its kind. */
  explained: {
    badArgs: 'Something in it could not be understood. Go back, check what you typed and try again.',
    forbidden: 'Your account may not do this. Ask an admin of your organization.',
    notFound: 'What you asked for is not here, or not any more. Go back and reload the page.',
    conflict: 'It is done already, or somebody else was faster. Go back and reload the page.',
    methodNotAllowed: 'This address is not meant to be used like that. Start again from your account.',
    requestTimeout: 'The form took too long to arrive. Try again, on a better connection if you can.',
    bodyTooLarge: 'What you sent is too large. Shorten it and try again.',
    unsupportedMediaType:
      'The form came in a way that is not understood. Go back, reload the page and try again.',
    tooManyRequests: 'There were too many attempts.',
    unavailable:
      'The server is busy, or something that it needs does not answer. Try again in a few minutes.',
    internal:
      'The server could not do it. Try again in a few minutes, and tell those who run it if it happens again.',
  },

  authorize: {
    missing: (name: string) => `${name} is missing.`,
    repeated: (name: string) => `${name} is given more than once.`,
    undecodable: (name: string) => `${name} is not valid percent-encoded text.`,
    unknownClient: 'client_id names no application that is registered here.',
    unknownAddress: 'redirect_uri is not one of the addresses that were registered for the application.',
  },
} as const

/**
 * What the rest of the program refuses, in words that tell a person what to do next. The first pattern that fits its
 * message decides; what is in parentheses there is handed over.
 */
export const REFUSALS: readonly (readonly [RegExp, (...found: string[]) => string])[] = [
  [/^first_name must not be empty$/, () => 'Type your first name.'],
  [/^last_name must not be empty$/, () => 'Type your last name.'],
  [/^first_name .* (\d+) characters$/, (max) => `Your first name can have ${max} characters. Shorten it.`],
  [/^last_name .* (\d+) characters$/, (max) => `Your last name can have ${max} characters. Shorten it.`],
  [/^(?:first|last)_name .* control/, () => 'Your name has characters that cannot be shown. Type it anew.'],
  [/^email must be/, () => 'This is no e-mail address. Type one like ann@example.org.'],
  [/^(\S+@\S+) is a user already$/, (email) => `${email} has an account already. Sign in with it.`],
  [
    /^the password .* at least (\d+)/,
    (min) => `The password needs at least ${min} characters. Choose a longer one.`,
  ],
  [
    /^the password .* at most (\d+)/,
    (max) => `The password can have ${max} characters. Choose a shorter one.`,
  ],
  [/^your password is not kept here$/, () => TEXTS.account.external],
  [/^you have a second factor/, () => 'Your second factor is on already. Reload the page.'],
  [/^there is no such session$/, () => 'This session has ended already.'],
  [/^there is no such account/, () => 'Your account is gone. Ask an admin of your organization.'],
  [
    /^you have not authorized/,
    () => 'You have not given this application access, or have revoked it already.',
  ],
  [/^you have no such token$/, () => 'There is no such token, or you have revoked it already.'],
  [/^choose at least one permission$/, () => 'Tick at least one permission.'],
  [/organization\.admin/, () => 'Only an admin can give this permission. Untick it.'],
  [/^scope |^the scopes /, () => 'These permissions do not exist. Choose from those that are listed.'],
  [/^the name .* (\d+) characters$/, (max) => `Type a name of up to ${max} characters.`],
  [
    /^the description .* (\d+) characters$/,
    (max) => `The description can have ${max} characters. Shorten it.`,
  ],
  [/^an application needs a redirect URI$/, () => 'Type at least one redirect address.'],
  [
    /^an application has at most (\d+)/,
    (max) => `An application has at most ${max} redirect addresses. Remove some.`,
  ],
  [
    /^the redirect URI must be/,
    () => `One of the redirect addresses cannot be taken. What can: ${TEXTS.hints.redirects}`,
  ],
  [
    /^the token lifetime .* up to (\d+)/,
    (max) => `The life of tokens is a whole number up to ${max}; 0 is for ever.`,
  ],
  [/^there is no application/, () => 'There is no such application, or it was removed.'],
  [/^the application has changed/, () => 'The application has changed meanwhile. Start again from there.'],
  [/^only an admin/, () => TEXTS.errors.adminsOnly],
  [/^a sign-up code is needed$/, () => TEXTS.signUp.askForCode],
  [/^this address is invited/, () => 'This address is invited. Sign up with the code of the invitation.'],
  [
    /^the sign-up code was made for another/,
    () => 'This sign-up code is for another address. Ask for one of your own.',
  ],
  [
    /^the sign-up code is not valid$/,
    () => 'This sign-up code does not work, or not any more. Ask for a new one.',
  ],
  [
    /^sign in with the password of your org/,
    () => 'You have a password already: sign in with that of your organization.',
  ],
  [/^the set-up link/, () => TEXTS.setUp.wrongCode],
  [/^too many failed attempts/, () => TEXTS.explained.tooManyRequests],
  [/^too many people sign in/, () => 'Too many people sign in at this moment. Try again in a few minutes.'],
  [/^this is tried too often/, () => 'This is tried too often at this moment. Try again in a few minutes.'],
  [/directory/, () => 'The directory of your organization does not answer. Try again in a few minutes.'],
]

const MINUTE_MS = 60_000
const HOUR_MINUTES = 60

/** A length of time as a person would say it. */
function span(ms: number): string {
  const minutes = Math.round(ms / MINUTE_MS)
  return minutes >= 2 * HOUR_MINUTES ? `${Math.floor(minutes / HOUR_MINUTES)} hours` : `${minutes} minutes`
}
