/** A name, an IPv4 address, or an IPv6 address in brackets; and a port, of which the number is the first group (RFC 9110 §7.2). */
export const hostForm = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?$/;
