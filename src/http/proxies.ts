import { BlockList, isIP } from 'node:net'

/** Whether the word of a peer about where a request came from is taken. */
export type Belief = (peer: string) => boolean

/** For addresses and networks such as `10.0.0.0/8`; throws an error that says which of them is neither. */
export function believes(networks: readonly string[]): Belief {
  if (networks.length === 0) return () => false
  const list = new BlockList()
  for (const network of networks) add(list, network)
  return (peer) => {
    const version = isIP(peer)
    return version !== 0 && list.check(peer, version === 4 ? 'ipv4' : 'ipv6')
  }
}

function add(list: BlockList, network: string): void {
  const [address = '', prefix, ...rest] = network.split('/')
  const version = isIP(address)
  const bitsMax = version === 4 ? 32 : 128
  const bits = prefix === undefined ? bitsMax : /^\d{1,3}$/.test(prefix) ? Number(prefix) : NaN
  if (version === 0 || rest.length > 0 || !(bits <= bitsMax)) {
    throw new Error(`${network} is neither an address nor a network such as 10.0.0.0/8`)
  }
  list.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6')
}
