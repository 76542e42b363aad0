import { once } from 'node:events';
import { typesOfSignature } from '../content/media-types.ts';
import { typesShown } from '../content/signed-types.ts';
import { loadLibrary } from './load-library.ts';
import { busy } from './upload-refusals.ts';

/** How much of a file's beginning the signature is read from. */
export const sampleBytesMax = 16 * 1024;

/**
 * The canonical types that a file's first bytes leave possible; undefined when they show no known signature. The library sees a
 * bounded sample only; an error inside it counts as no signature, so every type that has one is refused. A delay says nothing
 * about the file: archives are unpacked on the few threads that also write to disk.
 */
export async function readSignature(sample: Buffer): Promise<readonly string[] | undefined> {
  if (isTagAlone(sample)) return taggedTypes;
  const beginning = behindPrefixes(sample).toString('latin1');
  return (
    typesOfMark(earlyMarks, beginning) ?? (await askLibrary(sample)) ?? typesOfMark(lateMarks, beginning)
  );
}

async function askLibrary(sample: Buffer): Promise<readonly string[] | undefined> {
  const { fileTypeFromBuffer } = await loadFileType();
  const deadline = new AbortController();
  // Cleared again, unlike that of AbortSignal.timeout(): a form may have a thousand small files.
  const timer = setTimeout(() => deadline.abort(), deadlineMs).unref();
  const options = { signal: deadline.signal, maxBufferSize: sampleBytesMax };
  const late = once(deadline.signal, 'abort').then(() => undefined);
  const found = await Promise.race([fileTypeFromBuffer(sample, options).catch(() => undefined), late]);
  clearTimeout(timer);
  if (deadline.signal.aborted) throw busy('the type of a file was not read in time');
  if (found === undefined) return undefined;
  const types = typesOfSignature(found.mime);
  if (showsPictures(found.mime, sample)) return types.filter((type) => !type.startsWith('audio/'));
  // Whatever it holds, it is an archive too: the library goes by the names inside.
  return sample.subarray(0, 4).equals(zipMark) ? [...types, 'application/zip'] : types;
}

/** The canonical types whose files can be told by their first bytes. */
export async function typesWithSignature(): Promise<ReadonlySet<string>> {
  if (!known) {
    const { supportedMimeTypes } = await loadFileType();
    known = typesShown(supportedMimeTypes).difference(seldomMarked);
  }
  return known;
}

const loadFileType = () => loadLibrary(() => import('file-type'));

/** PGP and STL have a mark only where written in text. */
const seldomMarked = new Set(['application/pgp-encrypted', 'model/stl']);

const zipMark = Buffer.from('PK\x03\x04');

const deadlineMs = 5000;

let known: ReadonlySet<string> | undefined;

/** What tells the sounds that an ID3v2 tag may precede: `fLaC` is the longest. */
const soundMarkBytes = 4;

/** Audio types that an ID3v2 tag may precede. */
const taggedTypes = ['audio/mpeg', 'audio/aac', 'audio/flac'];

/** Whether the sample shows nothing but an ID3v2 tag, as one with a picture may, and too little behind it. */
function isTagAlone(sample: Buffer): boolean {
  const size = tagBytes(sample);
  return size > 0 && sample.length - size < soundMarkBytes;
}

/** How many bytes the ID3v2 tag takes that the sample begins with (its §3.1), and 0 where there is none. */
function tagBytes(sample: Buffer): number {
  if (sample.length < 10 || sample.toString('latin1', 0, 3) !== 'ID3') return 0;
  // Seven bits of each size byte count.
  return 10 + sample.subarray(6, 10).reduce((bits, byte) => bits * 128 + (byte % 128), 0);
}

const byteOrderMark = Buffer.from('\ufeff');

/** What stands behind byte order marks and ID3v2 tags: the library passes over any number of them. */
function behindPrefixes(sample: Buffer): Buffer {
  let rest = sample;
  for (;;) {
    const size = rest.subarray(0, 3).equals(byteOrderMark) ? 3 : tagBytes(rest);
    if (size === 0) return rest;
    rest = rest.subarray(size);
  }
}

type Marks = readonly (readonly [mark: RegExp, ...types: string[]])[];

/** What the library is not asked about. */
const earlyMarks: Marks = [
  // It would unpack up to 16 MB, only to look for a tar: 15 KB took 40 ms.
  // oxlint-disable-next-line no-control-regex
  [/^\x1f\x8b\x08/, 'application/gzip'],
  // It goes by the major brand alone, which can be that of HEIF (ISO/IEC 23008-12 §10.2).
  [/^[^]{4}ftypmif1(?:[^]{4}){1,8}avif/, 'image/avif'],
  // It takes every IFF for AIFF, pictures too.
  [/^FORM[^]{4}(?!AIF[FC])/, 'application/x-iff'],
];

/** What the library does not know, because it looks at the very beginning alone, or for what lies beyond the sample. */
const lateMarks: Marks = [
  // Waves of over 4 GB (EBU Tech 3306, ITU-R BS.2088), which some recorders always write, and those in big-endian.
  [/^(?:RF64|BW64|RIFX)[^]{4}WAVE/, 'audio/wav'],
  // What tells the kinds of TIFF apart is written at the end by libtiff (TIFF 6.0, section 2).
  [/^(?:II\*\0|MM\0\*)/, ...typesOfSignature('image/tiff')],
  [/^\.snd/, 'audio/basic'],
  [/^[\t\n\f\r ]+%PDF-/, 'application/pdf'],
  // Encoders and editors leave a gap before the first frame, also behind a tag.
  [/^\0+\xff[\xe2\xe3\xf2\xf3\xfa\xfb][^\0\xf0-\xff]/, 'audio/mpeg'],
];

function typesOfMark(marks: Marks, beginning: string): readonly string[] | undefined {
  const [, ...types] = marks.find(([mark]) => mark.test(beginning)) ?? [];
  return types.length === 0 ? undefined : types;
}

/** What names the codec of a picture track in Matroska (RFC 9559 §5.1.4.1.21). Not every `V_`, which sound may hold by chance. */
const pictureCodec =
  /V_(?:VP[89]|AV1|AVS|MPEG|MS\/|THEORA|MJPEG|REAL|QUICKTIME|UNCOMPRESSED|PRORES|FFV1|DIRAC)/;

/** The handler of a picture track in MP4 and what comes of it (ISO/IEC 14496-12 §8.4.3). */
const pictureHandler = /hdlr[^]{8}vide/;

/** A page that begins a track (RFC 3533 §6) of Theora, Dirac, VP8 or Ogg Media: the first is that of one track, and others follow. */
// oxlint-disable-next-line no-control-regex
const picturePage = /OggS\0\x02[^]{20}\x01[^](?:\x80theora|BBCD\0|OVP80|\x01video\0)/;

/** What announces a picture track, by the subtype that the library gives a container. */
const pictureTracks = new Map([
  ['webm', pictureCodec],
  ['matroska', pictureCodec],
  ['mp4', pictureHandler],
  ['x-m4a', pictureHandler],
  ['quicktime', pictureHandler],
  ['3gpp', pictureHandler],
  ['3gpp2', pictureHandler],
  ['ogg', picturePage],
]);

/**
 * Whether a container that could hold sound alone announces a video track. It is looked for in the sample only: an MP4 file may
 * describe its tracks at its end, and then passes for either.
 */
function showsPictures(mime: string, sample: Buffer): boolean {
  const [, subtype = ''] = mime.split(/[/;]/);
  return pictureTracks.get(subtype)?.test(sample.toString('latin1')) ?? false;
}
