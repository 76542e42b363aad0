import { X509Certificate } from 'node:crypto';
import { readText, UnusableText } from './read-text.ts';

/** The authorities in a file. Throws `UnusableText` when it holds none. */
export function readAuthorities(file: string): string {
  const pem = readText(file);
  if (!areCertificates(pem)) throw new UnusableText(notCertificates, true);
  return pem;
}

export const notCertificates = 'is not PEM certificates (-----BEGIN CERTIFICATE-----)';

/**
 * True for PEM text of one or more whole certificates. To TLS any other text is a shorter list of authorities, or an empty one,
 * which trusts nobody: of a bundle that is still being written it would take those before the break.
 */
export function areCertificates(pem: string): boolean {
  const texts = pem.split(certificateEnd);
  const rest = texts.pop() ?? '';
  return (
    texts.length > 0 &&
    !rest.includes('-----BEGIN CERTIFICATE-----') &&
    texts.every((text) => isCertificate(text + certificateEnd))
  );
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

const certificateEnd = '-----END CERTIFICATE-----';
