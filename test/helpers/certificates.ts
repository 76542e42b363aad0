import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scene } from './poll.ts';
import { tempFolder } from './temp-folder.ts';

/** A certificate that signed itself, and its key, both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** Makes a certificate for these names, such as `DNS:localhost` or `IP:127.0.0.1`, valid for a day. */
export function makeCertificate(t: Scene, names: readonly string[]): Certificate {
  const folder = tempFolder(t);
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1']
      .concat(['-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`])
      .concat(['-out', cert, '-keyout', key]),
    { stdio: 'ignore' },
  );
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}
