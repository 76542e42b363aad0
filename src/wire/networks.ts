import { BlockList, isIPv6 } from 'node:net';

/** Addresses and blocks of them, such as `10.0.0.0/8`. */
export interface Networks {
  /** Whether the address is in one of them. What cannot be read is in none. */
  has(address: string): boolean;
}

/** A larger IPv6 block holds more than the addresses that stand for IPv4. */
const mappedBits = 96;

/**
 * Node takes an IPv4 address for the IPv6 one that stands for it (::ffff:0:0/96), so `::/8` would hold them all, and naming such
 * an IPv6 network would let in the whole of IPv4. Here a block holds IPv4 addresses only if it is written for them.
 */
export function networksOf(written: readonly string[]): Networks {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const network of written) {
    const [address = '', bits] = network.split('/');
    const family = familyOf(address);
    const isForAll = family === 'ipv4' || Number(bits ?? 128) >= mappedBits;
    for (const list of isForAll ? [lists.ipv4, lists.ipv6] : [lists.ipv6]) {
      if (bits === undefined) list.addAddress(address, family);
      else list.addSubnet(address, Number(bits), family);
    }
  }
  return {
    has(address) {
      const family = familyOf(address);
      return lists[family].check(address, family);
    },
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
