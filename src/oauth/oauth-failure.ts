import { Failure } from '../model/failures.js'

/** A refusal in the words of RFC 6749, section 5.2. */
export class OauthFailure extends Failure {
  readonly oauthError: string

  constructor(oauthError: string, message: string) {
    super('badArgs', message, { 'Cache-Control': 'no-store', Pragma: 'no-cache' })
    this.oauthError = oauthError
  }
}
