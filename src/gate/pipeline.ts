import type { Db, Tx } from '../db/db.js'
import { bodyAtHand, jsonContentType, parseJson, readBody, startBody } from '../http/body.js'
import type { Exchange } from '../http/exchange.js'
import type { ObjectRow } from '../db/objects.js'
import type { ContentState } from '../model/content-state.js'
import { Failure } from '../model/failures.js'
import { weakTag } from '../model/tags.js'
import type { Version } from '../model/version.js'
import { checkConsistency } from './affinity.js'
import type { Authenticator } from './authenticate.js'
import { authorize } from './authorize.js'
import type { Caller } from './caller.js'
import type { ShareGrant } from './grants.js'
import type { GrantsOf, Needs } from './needs.js'
import { ifMatchHolds, metadataTag, preconditionFailed } from './preconditions.js'
import { MustWrite } from './sandbox.js'
import { checkShareCondition } from './share-tags.js'

/** What a route asks of a request before its handler runs. */
export interface Rule<Input extends object, N extends Needs> {
  readonly effect: 'read' | 'write'
  readonly needs: N
  /**
   * If-Match is about the metadata of the grant named `object`, or about the grant named `share`; absent: the header is
   * ignored or the handler's.
   */
  readonly matches?: 'metadata' | 'share'
  /** The token may come as a query parameter, for plain links. */
  readonly queryToken?: boolean
  /**
   * The result follows from the path, the token and the database alone, unless the request has a query or a condition;
   * so it may be given again to the same request while the database has not changed at all.
   */
  readonly recalls?: boolean
  /** Checks the syntax of path, query and headers. */
  readonly input: (request: Incoming) => Input
  /** Checks the JSON body and completes the input; absent: the body is ignored. */
  readonly body?: (json: unknown, input: Input) => Input
}

/** The parts of a request that input is made from. */
export interface Incoming {
  readonly exchange: Exchange
  readonly version: Version
  /** Raw path segments by their name in the route. */
  readonly params: Readonly<Record<string, string>>
}

export interface Passed<Input, N extends Needs> {
  readonly tx: Tx
  readonly caller: Caller
  readonly input: Input
  readonly grants: GrantsOf<N>
}

/** What a route does between the body of a request and the transaction that writes. */
export interface Steps<Input> {
  /** Judges what only settings can tell; it is a part of the check of the body. */
  readonly judge?: (input: Input) => void
  /**
   * Takes time or asks the outside world, and so runs in no transaction. Every check that can be made without it has
   * been passed by then, and is made again afterwards.
   */
  readonly prepare?: (input: Input) => Promise<Input>
}

/** A request that has shown its token: what the checks of its transactions start from. */
export interface Admitted {
  readonly tokenHash: string
  readonly exchange: Exchange
  readonly version: Version
}

export interface Gate {
  /** One request from its token to the result of its handler, in one transaction; at once when it is known already. */
  run<Input extends object, N extends Needs, T>(
    incoming: Incoming,
    version: Version,
    rule: Rule<Input, N>,
    handle: (passed: Passed<Input, N>) => Promise<T>,
    steps?: Steps<Input>,
  ): T | Promise<T>
  /**
   * The token of a request that need not be checked before its body, because it was good a moment ago; undefined for every
   * other. Who shows no good token must not get as far as the lock of those who write.
   */
  trusted(exchange: Exchange, version: Version): Admitted | undefined
  /** For requests that are at hand as a whole: every check and the handler in the one transaction that writes. */
  atOnce<Input extends object, N extends Needs, T>(
    admitted: Admitted,
    rule: Rule<Input, N>,
    makeInput: () => Input,
    handle: (passed: Passed<Input, N>) => Promise<T>,
  ): Promise<T>
  /** For requests that are checked twice, before and after their body: the first time, from the token on. */
  opening<Input extends object, N extends Needs, T>(
    incoming: Incoming,
    version: Version,
    rule: Rule<Input, N>,
    handle: (passed: Passed<Input, N>) => Promise<T>,
  ): Promise<{ admitted: Admitted; input: Input; result: T }>
  /** The same again, for a request that had to wait for its turn. */
  reading<Input extends object, N extends Needs, T>(
    admitted: Admitted,
    rule: Rule<Input, N>,
    input: Input,
    handle: (passed: Passed<Input, N>) => Promise<T>,
  ): Promise<T>
  /** And the second time, in the transaction that writes. */
  writing<Input extends object, N extends Needs, T>(
    admitted: Admitted,
    rule: Rule<Input, N>,
    input: Input,
    handle: (passed: Passed<Input, N>) => Promise<T>,
  ): Promise<T>
}

export interface GateOptions {
  readonly db: Db
  readonly auth: Authenticator
  readonly nodeId: string
  readonly now: () => number
  /** The state of a file's content on this node, which is part of its tag. */
  readonly stateOf: (tx: Tx, caller: Caller, file: ObjectRow) => Promise<ContentState>
}

/** Beyond these they are forgotten, and checked before their bodies again. */
const TRUSTED_TOKENS_MAX = 1_000

export function gate({ db, auth, nodeId, now, stateOf }: GateOptions): Gate {
  /** Hashes of tokens that were good when they were last looked at. What they are worth now, each transaction says. */
  const trustedTokens = new Set<string>()

  /** Everything between the syntax of a request and its handler. */
  async function pass<Input extends object, N extends Needs>(
    tx: Tx,
    admitted: Admitted,
    rule: Rule<Input, N>,
    makeInput: () => Input,
    canWrite: boolean,
  ): Promise<Passed<Input, N>> {
    const { tokenHash, exchange, version } = admitted
    const caller = await auth.authenticate(tx, tokenHash, exchange, version)
    checkConsistency(exchange, nodeId)
    const input = makeInput()
    const fields = input as Readonly<Record<string, unknown>>
    const grants = await authorize(tx, caller, rule.needs, fields, { canWrite, nowMs: now() })
    if (rule.matches === 'share') checkShareCondition(exchange, matchedShare(grants))
    else if (rule.matches !== undefined) await checkCondition(tx, caller, exchange, matchedObject(grants))
    return { tx, caller, input, grants }
  }

  async function checkCondition(
    tx: Tx,
    caller: Caller,
    exchange: Exchange,
    object: ObjectRow,
  ): Promise<void> {
    if (ifMatchHolds(exchange, object)) return
    const state = object.kind === 'file' ? await stateOf(tx, caller, object) : undefined
    throw preconditionFailed(weakTag(metadataTag(object, state)))
  }

  /** A read that turns out to make something (an application's folder) runs again as a write. */
  async function reading<T>(body: (tx: Tx, canWrite: boolean) => Promise<T>, keptAs?: string): Promise<T> {
    try {
      return await db.read((tx) => body(tx, false), keptAs)
    } catch (error) {
      if (error instanceof MustWrite) return db.write((tx) => body(tx, true))
      throw error
    }
  }

  /** The token as the request shows it; whose it is, the transaction says. */
  function shown(exchange: Exchange, version: Version, queryToken = false): Admitted {
    return { tokenHash: auth.tokenOf(exchange, queryToken), exchange, version }
  }

  function runRead<Input extends object, N extends Needs, T>(
    incoming: Incoming,
    version: Version,
    rule: Rule<Input, N>,
    handle: (passed: Passed<Input, N>) => Promise<T>,
  ): T | Promise<T> {
    const admitted = shown(incoming.exchange, version, rule.queryToken)
    const name = rule.recalls === true ? nameOf(admitted) : undefined
    const known = name === undefined ? undefined : (db.recall(name) as Known<T> | undefined)
    if (known !== undefined && auth.isCurrent(known.caller)) return known.result
    const seen = reading(async (tx, canWrite): Promise<Known<T>> => {
      const passed = await pass(tx, admitted, rule, () => rule.input(incoming), canWrite)
      return { caller: passed.caller, result: await handle(passed) }
    }, name)
    return seen.then(({ result }) => result)
  }

  /** Authenticates alone: the 401 and the 503 of a request whose body is still to come. */
  async function admit({ tokenHash, exchange, version }: Admitted): Promise<void> {
    trustedTokens.delete(tokenHash)
    await db.read((tx) => auth.authenticate(tx, tokenHash, exchange, version))
    trust(tokenHash)
    checkConsistency(exchange, nodeId)
  }

  function trust(tokenHash: string): void {
    if (trustedTokens.size >= TRUSTED_TOKENS_MAX) trustedTokens.clear()
    trustedTokens.add(tokenHash)
  }

  /** The input of a request whose body is at hand. */
  async function completeInput<Input extends object, N extends Needs>(
    admitted: Admitted,
    incoming: Incoming,
    rule: Rule<Input, N>,
    bytes: Buffer,
    judge: ((input: Input) => void) | undefined,
  ): Promise<Input> {
    try {
      let input = rule.input(incoming)
      if (rule.body !== undefined) {
        jsonContentType(incoming.exchange)
        input = rule.body(parsed(incoming.exchange, bytes), input)
      }
      judge?.(input)
      return input
    } catch (error) {
      await admit(admitted)
      throw error
    }
  }

  async function runWrite<Input extends object, N extends Needs, T>(
    incoming: Incoming,
    version: Version,
    rule: Rule<Input, N>,
    handle: (passed: Passed<Input, N>) => Promise<T>,
    steps?: Steps<Input>,
  ): Promise<T> {
    const { exchange } = incoming
    const admitted = shown(exchange, version)
    if (steps?.prepare === undefined && trustedTokens.has(admitted.tokenHash)) {
      const bytes = rule.body === undefined ? NOTHING : await bodyAtHand(exchange, exchange.limits.jsonBytes)
      if (bytes !== undefined) {
        const input = await completeInput(admitted, incoming, rule, bytes, steps?.judge)
        return gate.atOnce(admitted, rule, () => input, handle)
      }
    }
    await admit(admitted)
    let input = rule.input(incoming)
    if (rule.body !== undefined) {
      jsonContentType(exchange)
      // A client that waits for a 100 is spared its body by every check that does not need it.
      if (exchange.expectsContinue) await gate.reading(admitted, rule, input, () => Promise.resolve())
      startBody(exchange)
      const bytes = await readBody(exchange, exchange.limits.jsonBytes)
      input = rule.body(parsed(exchange, bytes), input)
    }
    steps?.judge?.(input)
    if (steps?.prepare !== undefined) {
      await gate.reading(admitted, rule, input, () => Promise.resolve())
      input = await steps.prepare(input)
    }
    return gate.writing(admitted, rule, input, handle)
  }

  const gate: Gate = {
    trusted(exchange, version) {
      const admitted = shown(exchange, version)
      return trustedTokens.has(admitted.tokenHash) ? admitted : undefined
    },

    async atOnce(admitted, rule, makeInput, handle) {
      let hasBegun = false
      try {
        return await db.write(async (tx) => {
          hasBegun = true
          return handle(await pass(tx, admitted, rule, makeInput, true))
        })
      } catch (error) {
        const isRefused = error instanceof Failure && error.kind === 'unauthorized'
        // Where nothing can be written, the next request is told first what its token is worth.
        if (!hasBegun || isRefused) trustedTokens.delete(admitted.tokenHash)
        throw error
      }
    },

    async opening(incoming, version, rule, handle) {
      const { exchange } = incoming
      const admitted = shown(exchange, version, rule.queryToken)
      return reading(async (tx, canWrite) => {
        const passed = await pass(tx, admitted, rule, () => rule.input(incoming), canWrite)
        trust(admitted.tokenHash)
        return { admitted, input: passed.input, result: await handle(passed) }
      })
    },

    reading: (admitted, rule, input, handle) =>
      reading(async (tx, canWrite) => handle(await pass(tx, admitted, rule, () => input, canWrite))),

    writing: (admitted, rule, input, handle) =>
      db.write(async (tx) => handle(await pass(tx, admitted, rule, () => input, true))),

    run: (incoming, version, rule, handle, steps) =>
      rule.effect === 'read'
        ? runRead(incoming, version, rule, handle)
        : runWrite(incoming, version, rule, handle, steps),
  }
  return gate
}

const NOTHING = Buffer.alloc(0)

function parsed({ limits }: Exchange, bytes: Buffer): unknown {
  return parseJson(bytes, limits.jsonDepth, limits.jsonKeys)
}

/** The outcome of a read, and for whom. */
interface Known<T> {
  readonly caller: Caller
  readonly result: T
}

/** Requests of the same name have the same result; one whose headers or query have a say in it has no name. */
function nameOf({ tokenHash, exchange }: Admitted): string | undefined {
  const { method, rawQuery, path, req } = exchange
  const isPlain =
    method === 'GET' &&
    rawQuery === '' &&
    req.headers['if-none-match'] === undefined &&
    req.headers['endpoint-consistency'] === undefined
  return isPlain ? `${tokenHash} ${path}` : undefined
}

/** A rule with a condition has a need named `object`. */
function matchedObject(grants: object): ObjectRow {
  const { object } = grants as { object?: { object: ObjectRow } }
  if (object === undefined) throw new Error('a condition needs a grant named object')
  return object.object
}

function matchedShare(grants: object): ShareGrant {
  const { share } = grants as { share?: ShareGrant }
  if (share === undefined) throw new Error('a condition needs a grant named share')
  return share
}
