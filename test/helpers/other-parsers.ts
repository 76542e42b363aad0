import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { Busboy as FastifyBusboy } from '@fastify/busboy';
import busboy from 'busboy';
import { formidable } from 'formidable';

/** What a parser made of one part. */
export interface OtherPart {
  readonly kind: 'file' | 'field';
  readonly name: string;
  readonly fileName: string | undefined;
  readonly type: string | undefined;
  readonly data: Buffer;
}

type Parser = (contentType: string, body: Buffer) => Promise<OtherPart[]>;

/** The parsers an upstream may use. Each rejects when it finds the body broken. */
export const otherParsers: Readonly<Record<string, Parser>> = {
  '@fastify/busboy 3': readWithFastifyBusboy,
  'busboy 1': readWithBusboy,
  'formidable 3': readWithFormidable,
  'FormData of the runtime': readWithRuntime,
};

async function readWithFastifyBusboy(contentType: string, body: Buffer): Promise<OtherPart[]> {
  const parts: (() => OtherPart)[] = [];
  const parser = new FastifyBusboy({ headers: { 'content-type': contentType }, preservePath: true });
  parser.on('file', (name, stream, fileName, _encoding, type) => {
    const data = collect(stream);
    parts.push(() => ({ kind: 'file', name, fileName, type, data: Buffer.concat(data) }));
  });
  parser.on('field', (name, value) => parts.push(() => field(name, value)));
  const finished = once(parser, 'finish');
  parser.end(body);
  await finished;
  return parts.map((part) => part());
}

async function readWithBusboy(contentType: string, body: Buffer): Promise<OtherPart[]> {
  const parts: (() => OtherPart)[] = [];
  const headers = { 'content-type': contentType };
  const parser = busboy({ headers, preservePath: true, defParamCharset: 'utf8' });
  parser.on('file', (name, stream, { filename, mimeType }) => {
    const data = collect(stream);
    parts.push(() => ({ kind: 'file', name, fileName: filename, type: mimeType, data: Buffer.concat(data) }));
  });
  parser.on('field', (name, value) => parts.push(() => field(name, value)));
  const closed = once(parser, 'close');
  parser.end(body);
  await closed;
  return parts.map((part) => part());
}

async function readWithFormidable(contentType: string, body: Buffer): Promise<OtherPart[]> {
  const parts: OtherPart[] = [];
  const written = new Map<unknown, Buffer[]>();
  const form = formidable({
    allowEmptyFiles: true,
    minFileSize: 0,
    fileWriteStreamHandler: (file) => {
      const data: Buffer[] = [];
      written.set(file, data);
      return new Writable({
        write: (chunk: Buffer, _encoding, done) => {
          data.push(Buffer.from(chunk));
          done();
        },
      });
    },
  });
  form.on('field', (name, value) => parts.push(field(name, value)));
  form.on('file', (name, file) => {
    const data = Buffer.concat(written.get(file) ?? []);
    const { originalFilename, mimetype } = file;
    parts.push({
      kind: 'file',
      name,
      fileName: originalFilename ?? undefined,
      type: mimetype ?? undefined,
      data,
    });
  });
  const request = new IncomingMessage(new Socket());
  request.headers = { 'content-type': contentType, 'content-length': String(body.length) };
  request.complete = true;
  request.push(body);
  request.push(null);
  await form.parse(request);
  return parts;
}

async function readWithRuntime(contentType: string, body: Buffer): Promise<OtherPart[]> {
  const form = await new Response(new Uint8Array(body), {
    headers: { 'content-type': contentType },
  }).formData();
  return Promise.all(
    Array.from(form, async ([name, value]): Promise<OtherPart> => {
      if (typeof value === 'string') return field(name, value);
      const data = Buffer.from(await value.arrayBuffer());
      return { kind: 'file', name, fileName: value.name, type: value.type, data };
    }),
  );
}

function field(name: string, value: string): OtherPart {
  return { kind: 'field', name, fileName: undefined, type: undefined, data: Buffer.from(value) };
}

function collect(stream: NodeJS.ReadableStream): Buffer[] {
  const data: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => data.push(Buffer.from(chunk)));
  return data;
}
