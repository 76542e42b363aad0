import { X509Certificate } from 'node:crypto';
import { readText, UnusableText } from './read-text.ts';

/** The authorities in a file. Throws `UnusableText` when it holds none. */
export function readAuthorities(file: string): string {
  const pem = readText(file);
  if (!areCertificates(pem)) throw new UnusableText(notCertificates, true);
  return pem;
}

export const notCertificates = 'is not PEM certificates (-----BEGIN CERTIFICATE-----)';

/** True for PEM text of one or more certificates. To TLS any other text is an empty list of authorities, so it trusts nobody. */
export function areCertificates(pem: string): boolean {
  const found = pem.split(certificateEnd).slice(0, -1);
  return found.length > 0 && found.every((text) => isCertificate(text + certificateEnd));
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

const certificateEnd = '-----END CERTIFICATE-----';
