let lastPort = 20_000 + (process.pid % 6_000) * 2

/**
 * A port for a node that gives it up and takes it again in mid-test. The ones that the system hands out by itself would
 * be handed to somebody else meanwhile; these it does not hand out.
 */
export function ownPort(): number {
  return (lastPort += 1)
}
