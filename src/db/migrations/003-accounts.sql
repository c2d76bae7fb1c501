-- 1: the account is managed by an external directory, which then holds its password.
ALTER TABLE users ADD COLUMN is_external BIGINT NOT NULL DEFAULT 0;

-- The secret of the second factor (base32); NULL: the person has none.
ALTER TABLE users ADD COLUMN second_factor {text};

-- What the person calls the device of a token (NULL: the application's name), and when the token was last used.
ALTER TABLE tokens ADD COLUMN device_name {text};

ALTER TABLE tokens ADD COLUMN used_ms BIGINT;

-- What an administrator calls a node.
ALTER TABLE nodes ADD COLUMN name {text};

-- People who were asked to register. The code is shown to the administrator again, so it is kept as it is; it is NULL
-- for an address that an external directory signs in.
CREATE TABLE invitees (
  email {text} PRIMARY KEY,
  email_from {text} NOT NULL,
  code {text} UNIQUE,
  created_ms BIGINT NOT NULL
);

-- Mails that are still to be sent, written in the transaction that calls for them.
CREATE TABLE mails (
  id {text} PRIMARY KEY,
  recipient {text} NOT NULL,
  subject {text} NOT NULL,
  body {text} NOT NULL,
  tries BIGINT NOT NULL DEFAULT 0,
  due_ms BIGINT NOT NULL,
  created_ms BIGINT NOT NULL
);

CREATE INDEX mails_by_due ON mails (due_ms);
