import type { IncomingMessage } from 'node:http';
import { Busboy } from '@fastify/busboy';
import { Unreadable } from './unreadable.ts';

/** Collects a request body of at most `sizeMax` bytes. */
export async function readWhole(req: IncomingMessage, sizeMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > sizeMax) throw new Unreadable(413, 'The request body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The sound file of a request: its whole body, or the form field `file`. */
export async function readUpload(req: IncomingMessage, sizeMax: number): Promise<Buffer> {
  const contentType = req.headers['content-type'] ?? '';
  const isForm = /^multipart\/form-data\s*;/i.test(contentType);
  if (!isForm && !/^audio\/(x-)?wave?\s*($|;)/i.test(contentType)) {
    throw new Unreadable(415, 'Send a WAV file, as multipart/form-data or as audio/wav');
  }
  const body = await readWhole(req, sizeMax);
  const file = isForm ? await fileOfForm(body, contentType) : body;
  if (!file || file.length === 0) throw new Unreadable(400, 'The form field "file" is missing or empty');
  return file;
}

function fileOfForm(body: Buffer, contentType: string): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const unreadable = (): void => reject(new Unreadable(400, 'The form is malformed'));
    const chunks: Buffer[] = [];
    try {
      const form = new Busboy({
        headers: { 'content-type': contentType },
        limits: { files: 1, fields: 20, parts: 21 },
      });
      form.on('file', (name, file) => {
        file.on('data', (chunk: Buffer) => name === 'file' && chunks.push(chunk));
        file.on('error', unreadable);
      });
      form.on('error', unreadable);
      form.on('finish', () => resolve(chunks.length > 0 ? Buffer.concat(chunks) : undefined));
      form.end(body);
    } catch {
      unreadable();
    }
  });
}
