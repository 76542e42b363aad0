import { createRequire } from 'node:module';
import type * as MimeTypes from 'mime-types';

/** One name for a type that goes by several: lower case, aliases resolved, parameters kept out by the caller. */
function canonicalType(type: string): string {
  const lower = type.toLowerCase();
  return aliases.get(lower) ?? aliases.get(lower.replace('/x-', '/')) ?? lower;
}

/** Whether a canonical type fits the pattern (`audio/wav`, `audio/*`, `*`+`/*`). */
function matchesType(type: string, pattern: string): boolean {
  if (pattern === '*/*') return true;
  if (pattern.endsWith('/*')) return type.startsWith(pattern.slice(0, -1).toLowerCase());
  return type === canonicalType(pattern);
}

/** Whether a canonical type fits one of the patterns. */
export function matchesAny(type: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => matchesType(type, pattern));
}

/**
 * Whether one of the patterns takes a canonical type without first bytes that show it: `audio/*` means sounds, and a playlist
 * (`audio/x-mpegurl`), which makes a decoder open what it lists, is none.
 */
export function isNamed(type: string, patterns: readonly string[]): boolean {
  return matchesAny(
    type,
    patterns.filter((pattern) => pattern === '*/*' || !pattern.endsWith('/*')),
  );
}

/** The canonical types a declared type may mean; undefined when it says nothing about the content. */
export function typesOfDeclared(declared: string): readonly string[] | undefined {
  const type = canonicalType(declared);
  if (type === 'application/octet-stream' || type === 'binary/octet-stream') return undefined;
  return [type, ...(declaredAlso.get(type) ?? [])];
}

/** The canonical types an extension may mean; none when it is unknown. */
export function typesOfExtension(extension: string): readonly string[] {
  return [...(extensionTable().get(extension) ?? [])];
}

/** Whether an extension is known for the type, or for any type that fits the pattern. */
export function hasExtension(pattern: string): boolean {
  const isMeant = (type: string): boolean => matchesType(type, pattern);
  // The everyday ones first, so that the registry is not loaded for them.
  return synonyms.some(([type]) => isMeant(type)) || typesWithExtension().some(isMeant);
}

/** The canonical types that an extension is known for. */
export function typesWithExtension(): readonly string[] {
  return [...knownTypes()];
}

let known: ReadonlySet<string> | undefined;

function knownTypes(): ReadonlySet<string> {
  return (known ??= new Set([...extensionTable().values()].flatMap((types) => [...types])));
}

/** The canonical types that a content signature, as the signature library names it, leaves possible. */
export function typesOfSignature(mime: string): readonly string[] {
  const type = canonicalType(mime.split(';', 1)[0] ?? mime);
  return [type, ...(signatureAlso.get(type) ?? [])];
}

/** Whether a canonical type is plain text: it has no signature, so all of the file is checked to be text. */
export function isTextType(type: string): boolean {
  return type.startsWith('text/') || /\+(?:json|xml|yaml)$/.test(type) || textApplications.has(type);
}

/** Whether one of the patterns takes a canonical type of text. `audio/*` means sounds, and `audio/x+json` is any text that says so. */
export function takesText(type: string, patterns: readonly string[]): boolean {
  if (!isTextType(type) || !matchesAny(type, patterns)) return false;
  return /^(?:text|application)\//.test(type) || isNamed(type, patterns) || knownTypes().has(type);
}

/** Each may also be written with `x-` before its subtype, as it was before it had a name of its own (RFC 6648). */
const synonyms: readonly (readonly [canonical: string, ...others: string[]])[] = [
  ['audio/wav', 'audio/wave', 'audio/vnd.wave', 'audio/pn-wav'],
  ['audio/mpeg', 'audio/mp3', 'audio/mp2', 'audio/mpeg3', 'audio/mpeg-3', 'audio/mpg'],
  ['audio/flac'],
  // Those with a plus are of Linux desktops.
  [
    'audio/ogg',
    'audio/opus',
    'audio/vorbis',
    'audio/speex',
    'audio/flac+ogg',
    'audio/opus+ogg',
    'audio/speex+ogg',
    'audio/vorbis+ogg',
  ],
  ['video/ogg', 'video/theora+ogg', 'video/ogm+ogg'],
  ['application/ogg'],
  // The last is how Macs list `.m4a`, and so Python's httpx there.
  ['audio/mp4', 'audio/m4a', 'audio/m4b', 'audio/mp4a-latm'],
  ['audio/quicktime'],
  // Android's recorders and Windows have a name of their own each.
  ['audio/aac', 'audio/aacp', 'audio/aac-adts', 'audio/hx-aac-adts', 'audio/vnd.dlna.adts'],
  ['audio/aiff', 'audio/aifc'],
  ['audio/x-caf', 'audio/caf'],
  ['audio/x-ms-wma', 'audio/wma'],
  ['audio/amr', 'audio/amr-nb'],
  ['audio/midi', 'audio/mid'],
  ['audio/ac3', 'audio/vnd.dolby.dd-raw'],
  ['audio/ape'],
  ['audio/wavpack'],
  ['audio/matroska'],
  ['video/matroska'],
  ['video/vnd.avi', 'video/avi', 'video/msvideo'],
  ['video/mp2t', 'video/vnd.dlna.mpeg-tts'],
  ['image/jpeg', 'image/jpg', 'image/pjpeg'],
  ['image/png', 'image/apng', 'image/vnd.mozilla.apng'],
  ['image/bmp', 'image/ms-bmp'],
  // HEIC is HEIF coded with HEVC, and clients call either by the name of the other.
  ['image/heif', 'image/heic', 'image/heif-sequence', 'image/heic-sequence'],
  ['image/x-icon', 'image/vnd.microsoft.icon'],
  ['image/x-fujifilm-raf', 'image/fuji-raf'],
  ['application/pdf'],
  ['application/postscript', 'application/eps', 'image/eps', 'application/illustrator'],
  ['application/vnd.visio', 'application/vnd.ms-visio.viewer'],
  ['application/vnd.apple.keynote', 'application/iwork-keynote-sffkey'],
  ['application/vnd.apple.numbers', 'application/iwork-numbers-sffnumbers'],
  ['application/vnd.apple.pages', 'application/iwork-pages-sffpages'],
  ['application/x-msdownload', 'application/msdos-program', 'application/vnd.microsoft.portable-executable'],
  ['application/zip', 'application/zip-compressed'],
  // Linux desktops name a packed tar by both.
  ['application/gzip', 'application/compressed-tar', 'application/gtar-compressed'],
  ['application/x-bzip2', 'application/bzip', 'application/bzip-compressed-tar'],
  ['application/x-xz', 'application/xz-compressed-tar'],
  ['application/vnd.rar', 'application/rar', 'application/rar-compressed'],
  ['application/vnd.debian.binary-package', 'application/deb', 'application/debian-package'],
  ['application/x-rpm', 'application/redhat-package-manager'],
  ['application/vnd.sqlite3', 'application/sqlite3'],
  ['application/rtf', 'text/rtf'],
  ['font/woff', 'application/font-woff'],
  ['application/xml', 'text/xml'],
  ['application/json', 'text/json'],
  ['application/yaml', 'text/yaml'],
  ['text/plain', 'text/log'],
  // The last is Android's.
  ['text/csv', 'application/csv', 'text/comma-separated-values'],
  ['text/vcard'],
  ['application/sql'],
  ['text/javascript', 'application/javascript'],
];

const aliases = new Map(
  synonyms.flatMap(([canonical, ...others]) =>
    [canonical, ...others].map((each) => [each, canonical] as const),
  ),
);

/**
 * Declared types that are wider than their name: clients look at the extension alone, so Firefox calls every `.ogg` a video
 * (Bugzilla 1240259), all of them every `.webm`, Android 9 every `.m4a` an MP3, mime-types 3.0.1 every `.mp4` an application, and
 * Windows every file of Illustrator a PostScript one and, with Office, every CSV file an Excel sheet and every RTF a Word document.
 * PHP looks at the first bytes alone, and calls every `.mka` a video. Not `video/mp4`: its pictures may only be told of at its end.
 */
const declaredAlso = new Map<string, readonly string[]>([
  ['application/ogg', ['audio/ogg', 'video/ogg']],
  ['video/ogg', ['audio/ogg']],
  ['video/webm', ['audio/webm']],
  ['video/matroska', ['audio/matroska']],
  ['audio/mpeg', ['audio/mp4']],
  ['application/mp4', ['audio/mp4', 'video/mp4']],
  ['application/vnd.ms-asf', ['video/x-ms-asf']],
  ['application/postscript', ['application/pdf']],
  ['application/x-compressed', ['application/gzip', 'application/zip', 'application/vnd.rar']],
  ['application/vnd.ms-excel', ['text/csv']],
  ['application/msword', ['application/rtf']],
]);

const office = 'application/vnd.openxmlformats-officedocument';

/** What a signature may mean besides: containers do not tell sound from pictures by it, and families share one. */
const signatureAlso = new Map<string, readonly string[]>([
  ['video/mp4', ['audio/mp4', 'video/x-m4v']],
  ['video/x-m4v', ['video/mp4']],
  // A profile of MP4 (3GPP TS 26.244); some recorders call their files by the wider name.
  ['video/3gpp', ['audio/3gpp', 'video/mp4', 'audio/mp4']],
  ['video/quicktime', ['audio/quicktime', 'audio/mp4']],
  ['video/3gpp2', ['audio/3gpp2']],
  ['video/webm', ['audio/webm']],
  ['video/mp1s', ['video/mpeg']],
  ['video/mp2p', ['video/mpeg']],
  // Chrome's `audio/webm;codecs=pcm` is Matroska, of which WebM is the part without PCM.
  ['video/matroska', ['audio/matroska', 'video/webm', 'audio/webm']],
  ['audio/amr', ['audio/amr-wb']],
  ['audio/ogg', ['application/ogg']],
  ['video/ogg', ['application/ogg']],
  ['application/ogg', ['audio/ogg', 'video/ogg']],
  ['audio/x-ms-asf', ['audio/x-ms-wma', 'video/x-ms-asf']],
  ['video/x-ms-asf', ['video/x-ms-wmv']],
  ['application/vnd.ms-asf', ['audio/x-ms-wma', 'video/x-ms-wmv', 'video/x-ms-asf']],
  // What tells the kinds of TIFF apart may lie anywhere.
  ['image/tiff', ['image/x-adobe-dng', 'image/x-nikon-nef', 'image/x-sony-arw']],
  // What an archive is can be told far behind its beginning, or by no mark at all.
  [
    'application/zip',
    [
      'application/vnd.android.package-archive',
      'application/vnd.google-earth.kmz',
      'application/vnd.ms-excel.sheet.binary.macroenabled.12',
      'model/vnd.usdz+zip',
    ],
  ],
  ['application/java-archive', ['application/vnd.android.package-archive']],
  // What kind of document it is stands in a part that some programs write last; without it the library goes by the folders.
  [
    `${office}.wordprocessingml.document`,
    [
      `${office}.wordprocessingml.template`,
      'application/vnd.ms-word.document.macroenabled.12',
      'application/vnd.ms-word.template.macroenabled.12',
    ],
  ],
  [
    `${office}.spreadsheetml.sheet`,
    [
      `${office}.spreadsheetml.template`,
      'application/vnd.ms-excel.sheet.macroenabled.12',
      'application/vnd.ms-excel.template.macroenabled.12',
    ],
  ],
  [
    `${office}.presentationml.presentation`,
    [
      `${office}.presentationml.slideshow`,
      `${office}.presentationml.template`,
      'application/vnd.ms-powerpoint.presentation.macroenabled.12',
      'application/vnd.ms-powerpoint.slideshow.macroenabled.12',
      'application/vnd.ms-powerpoint.template.macroenabled.12',
    ],
  ],
  [
    'application/x-cfb',
    [
      'application/msword',
      'application/vnd.ms-excel',
      'application/vnd.ms-outlook',
      'application/vnd.ms-powerpoint',
      'application/vnd.visio',
      'application/x-msi',
    ],
  ],
]);

const textApplications = new Set([
  'application/json',
  'application/jsonl',
  'application/x-ndjson',
  'application/xml',
  'application/yaml',
  'application/toml',
  'application/sql',
  'application/graphql',
  'application/x-subrip',
]);

/** Extensions of the containers above, and of types that the registry lists under their old name. */
const moreExtensions: readonly (readonly [extension: string, ...types: string[]])[] = [
  ['awb', 'audio/amr-wb'],
  ['ac3', 'audio/ac3'],
  ['ape', 'audio/ape'],
  ['wv', 'audio/wavpack'],
  ['voc', 'audio/x-voc'],
  ['zst', 'application/zstd'],
  ['tgz', 'application/gzip'],
  ['tbz2', 'application/x-bzip2'],
  ['txz', 'application/x-xz'],
  ['mp4', 'audio/mp4'],
  ['m4v', 'video/mp4'],
  ['ogg', 'application/ogg', 'video/ogg'],
  ['oga', 'application/ogg'],
  ['opus', 'application/ogg'],
  ['ogm', 'video/ogg'],
  ['webm', 'audio/webm'],
  ['3gp', 'audio/3gpp'],
  // Samsung's voice recorder, and the iPhone's.
  ['3ga', 'audio/3gpp'],
  ['qta', 'audio/quicktime'],
  ['3g2', 'audio/3gpp2'],
  ['ai', 'application/pdf'],
  ['msi', 'application/x-msi'],
  // Cameras of Canon and Sony.
  ['hif', 'image/heif'],
  ['cr2', 'image/x-canon-cr2'],
  ['cr3', 'image/x-canon-cr3'],
  ['nef', 'image/x-nikon-nef'],
  ['arw', 'image/x-sony-arw'],
  ['orf', 'image/x-olympus-orf'],
  ['rw2', 'image/x-panasonic-rw2'],
  ['raf', 'image/x-fujifilm-raf'],
  ['dsf', 'audio/x-dsf'],
  ['dff', 'audio/x-dff'],
  ['qcp', 'audio/qcelp'],
  ['sqlite', 'application/vnd.sqlite3'],
  ['parquet', 'application/vnd.apache.parquet'],
  ['ndjson', 'application/x-ndjson'],
  ['jsonl', 'application/jsonl', 'application/x-ndjson'],
];

let table: Map<string, Set<string>> | undefined;

/** Made, and the registry loaded, on first use: most gateways have no route with an upload. */
function extensionTable(): Map<string, Set<string>> {
  if (table) return table;
  table = new Map();
  const { extensions } = createRequire(import.meta.url)('mime-types') as typeof MimeTypes;
  const registered = Object.entries(extensions).flatMap(([type, names]) =>
    names.map((name) => [name, type] as const),
  );
  const more = moreExtensions.flatMap(([name, ...types]) => types.map((type) => [name, type] as const));
  for (const [name, type] of [...registered, ...more]) {
    table.getOrInsert(name, new Set()).add(canonicalType(type));
  }
  return table;
}
