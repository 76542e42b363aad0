/** Methods that change nothing (RFC 9110 §9.2.1): they may be sent again, and worked on side by side. */
export const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);
