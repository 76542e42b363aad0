import { X509Certificate } from 'node:crypto';

/** True for PEM text of one certificate or more. To TLS any other text is a list without authorities, and so trusts nobody. */
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
