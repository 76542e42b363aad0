import { crc32, deflateRawSync } from 'node:zlib';

/** The smallest files that are what they are called, made in code. */
export const samples = {
  wav: wav(),
  waveOf64Bits: wave('RF64'),
  waveOfBroadcasts: wave('BW64'),
  waveInBigEndian: wave('RIFX'),
  mp3: mpegFrames(),
  mp3AfterZeros: Buffer.concat([Buffer.alloc(100), mpegFrames()]),
  mp3AfterTagAndZeros: Buffer.concat([id3Tag(10), Buffer.alloc(100), mpegFrames()]),
  tagCutOff: Buffer.from('ID3\x04\0\0'),
  mp3Tagged: Buffer.concat([id3Tag(10), mpegFrames()]),
  mp3Picture: Buffer.concat([id3Tag(32 * 1024), mpegFrames()]),
  flacPicture: Buffer.concat([
    id3Tag(32 * 1024),
    Buffer.from('fLaC\x80\0\0\x22', 'latin1'),
    Buffer.alloc(34, 1),
  ]),
  wma: asf('sound'),
  wmaPicture: asf('sound', Buffer.alloc(50_000, 1)),
  wmv: asf('pictures'),
  flac: Buffer.concat([Buffer.from('fLaC\x80\0\0\x22', 'latin1'), Buffer.alloc(34, 1)]),
  oggVorbis: ogg(Buffer.from('\x01vorbis\0\0\0\0\x02\x44\xac\0\0', 'latin1')),
  oggOpus: ogg(Buffer.from('OpusHead\x01\x02\0\0\x80\xbb\0\0\0\0\0', 'latin1')),
  oggTheora: ogg(Buffer.from('\x80theora\x03\x02\x01\0\0\0\0\0\0\0', 'latin1')),
  oggSkeleton: ogg(Buffer.from('fishead\0\x03\0\0\0', 'latin1')),
  oggOpusTheora: Buffer.concat([
    ogg(Buffer.from('OpusHead\x01\x02')),
    ogg(Buffer.from('\x80theora\x03\x02\x01\0\0\0\0\0\0\0', 'latin1')),
  ]),
  oggOpusTheoraAfterMark: Buffer.concat([
    Buffer.from('\ufeff'),
    ogg(Buffer.from('OpusHead\x01\x02')),
    ogg(Buffer.from('\x80theora\x03\x02\x01\0\0\0\0\0\0\0', 'latin1')),
  ]),
  oggOpusVp8: Buffer.concat([ogg(Buffer.from('OpusHead\x01\x02')), ogg(Buffer.from('OVP80\x01'))]),
  oggOpusDirac: Buffer.concat([ogg(Buffer.from('OpusHead\x01\x02')), ogg(Buffer.from('BBCD\0'))]),
  oggOpusMedia: Buffer.concat([ogg(Buffer.from('OpusHead\x01\x02')), ogg(Buffer.from('\x01video\0'))]),
  m4a: mp4('M4A '),
  m4aPictures: mp4('M4A ', handler('vide')),
  m4bPictures: mp4('M4B ', handler('vide')),
  threeGpSound: mp4('3gp4', handler('soun')),
  quickTimeSound: mp4('qt  ', handler('soun')),
  quickTimePictures: mp4('qt  ', handler('vide')),
  mp4Sound: mp4('isom', handler('soun')),
  mp4Pictures: mp4('isom', handler('vide')),
  webmSound: webm('A_OPUS'),
  matroskaSound: webm('A_FLAC', 'matroska'),
  matroskaPictures: webm('V_MPEG4/ISO/AVC', 'matroska'),
  avi: Buffer.from('RIFF\x20\0\0\0AVI LIST\x14\0\0\0hdrlavih', 'latin1'),
  midi: Buffer.from('MThd\0\0\0\x06\0\0\0\x01\0\x60MTrk\0\0\0\x04\0\xff\x2f\0', 'latin1'),
  bmp: Buffer.concat([Buffer.from('BM\x3a\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0', 'latin1'), Buffer.alloc(40)]),
  icon: Buffer.concat([Buffer.from('\0\0\x01\0\x01\0\x10\x10', 'latin1'), Buffer.alloc(40)]),
  threeGpPictures: mp4('3gp4', handler('vide')),
  webmPictures: webm('V_VP9'),
  webmTheora: webm('V_THEORA'),
  aac: Buffer.concat(
    Array.from({ length: 4 }, () => Buffer.from('fff15080029ffcdeadbeef0102030405060708090a', 'hex')),
  ),
  amr: Buffer.from('#!AMR\n\x3c\x55\x00\x55\x55', 'latin1'),
  amrWide: Buffer.from('#!AMR-WB\n\x04\x55\x00\x55\x55', 'latin1'),
  aiff: Buffer.concat([Buffer.from('FORM\0\0\0\x2eAIFFCOMM\0\0\0\x12', 'latin1'), Buffer.alloc(18)]),
  png: png(),
  jpeg: Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex'),
  gif: Buffer.from(
    'GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;',
    'latin1',
  ),
  pdf: Buffer.from('%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n'),
  pdfAfterLineBreak: Buffer.from(
    '\r\n%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
  ),
  tiffDirectoryFirst: tiff('II', 8),
  tiffDirectoryLast: tiff('II', 40_000),
  tiffInBigEndian: tiff('MM', 40_000),
  heif: mp4('mif1'),
  avifByMinorBrand: box('ftyp', Buffer.from('mif1\0\0\0\0mif1avifmiaf')),
  heic: mp4('heic'),
  heicSequence: mp4('hevc'),
  heifSequence: mp4('msf1'),
  m4v: mp4('M4V ', handler('vide')),
  threeG2Sound: mp4('3g2a', handler('soun')),
  eps: Buffer.from('%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n'),
  mpegProgram: Buffer.from('000001ba440004000401', 'hex'),
  mpegSystem: Buffer.from('000001ba210001000180', 'hex'),
  rar: Buffer.from('526172211a070100', 'hex'),
  zstd: Buffer.from('28b52ffd045841000078', 'hex'),
  compoundFile: Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(504)]),
  vcard: Buffer.from('BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Ada\r\nEND:VCARD\r\n'),
  rtf: Buffer.from('{\\rtf1\\ansi a note\\par}\n'),
  postScript: Buffer.from('%!PS-Adobe-3.0\n/Times-Roman findfont 12 scalefont setfont\nshowpage\n'),
  webvtt: Buffer.from('WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n'),
  zip: zip('note.txt', Buffer.from('a note')),
  zipOfWords: zip('word/list.txt', Buffer.from('Änne')).subarray(0, 45),
  documentCutOff: zip('word/document.xml', Buffer.from('<document/>')).subarray(0, 50),
  workbookCutOff: zip('xl/workbook.xml', Buffer.from('<workbook/>')).subarray(0, 50),
  slidesCutOff: zip('ppt/presentation.xml', Buffer.from('<presentation/>')).subarray(0, 50),
  pages: zip('Index/Document.iwa', Buffer.from('a page')),
  epub: zip('mimetype', Buffer.from('application/epub+zip')),
  jar: zip('META-INF/MANIFEST.MF', Buffer.from('Manifest-Version: 1.0')),
  iffPictures: Buffer.concat([Buffer.from('FORM\0\0\0\x2eILBMBMHD\0\0\0\x14', 'latin1'), Buffer.alloc(20)]),
  au: Buffer.concat([Buffer.from('.snd'), Buffer.alloc(40, 1)]),
  playlist: Buffer.from('#EXTM3U\nhttp://127.0.0.1/a\n'),
  monkeysAudio: Buffer.from('4d414320960f000034000000', 'hex'),
  wavPack: Buffer.from('7776706b2000000010040000', 'hex'),
  ac3: Buffer.from('0b77d0f650402f84', 'hex'),
  oggMedia: ogg(Buffer.from('\x01video\0\0\0', 'latin1')),
  gzip: Buffer.from('1f8b0800000000000003030000000000000000', 'hex'),
  stlInText: Buffer.from('solid cube\nendsolid cube\n'),
  stlInBytes: Buffer.concat([Buffer.from('cube'.padEnd(80)), Buffer.from([1, 0, 0, 0]), Buffer.alloc(50, 7)]),
  disc: Buffer.concat([Buffer.alloc(32_769), Buffer.from('CD001'), Buffer.alloc(2042)]),
  exe: Buffer.concat([Buffer.from('MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff', 'latin1'), Buffer.alloc(100)]),
  elf: Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01', 'latin1'), Buffer.alloc(100)]),
  photoOfCanon: Buffer.from('49492a001000000043520200000000000000', 'hex'),
  photoOfFuji: Buffer.from('FUJIFILMCCD-RAW 0201FF389501'),
  debianPackage: Buffer.from('!<arch>\ndebian-binary   1410122664  0     0     100644  4         `\n2.0\n'),
  rpm: Buffer.from('edabeedb0300000000ff', 'hex'),
  sqlite: Buffer.from('SQLite format 3\0'),
  dsf: Buffer.concat([Buffer.from('DSD '), Buffer.alloc(24)]),
  html: Buffer.from('<!doctype html><title>x</title><p>hello'),
  csv: Buffer.from('name,number\nÄnne,1\n김,2\n'),
  bmwCsv: Buffer.from('BMW;number\nX5;1\n'),
  json: Buffer.from('{"name":"Änne","n":[1,2]}'),
  text: Buffer.from('just a text that somebody renamed\n'.repeat(20)),
  xml: Buffer.from('<?xml version="1.0"?><a>b</a>'),
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
  latin1: Buffer.from('name,number\n\xc4nne,1\n', 'latin1'),
  utf16: Buffer.from('\ufeffname,number\n', 'utf16le'),
  zeros: Buffer.alloc(64),
} as const;

/** A WAV file of silence with as many bytes of samples. */
export function wav(sampleBytes = 800): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(36 + sampleBytes, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(8000, 24);
  head.writeUInt32LE(8000, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(sampleBytes, 40);
  return Buffer.concat([head, Buffer.alloc(sampleBytes, 0x80)]);
}

/** The same under another mark. */
function wave(mark: string): Buffer {
  const bytes = wav();
  bytes.write(mark, 0, 'latin1');
  return bytes;
}

/** An ID3v2 tag that holds so many bytes, seven bits of the size in each byte. */
export function id3Tag(bytes: number): Buffer {
  const size = [21, 14, 7, 0].map((shift) => (bytes >> shift) & 0x7f);
  return Buffer.concat([Buffer.from('ID3\x04\0\0', 'latin1'), Buffer.from(size), Buffer.alloc(bytes)]);
}

/** Windows Media whose header may hold a picture before it tells what stream there is. */
function asf(stream: 'sound' | 'pictures', picture: Buffer = Buffer.alloc(0)): Buffer {
  const kind = { sound: '409e69f84d5bcf11a8fd00805f5c442b', pictures: 'c0ef19bc4d5bcf11a8fd00805f5c442b' };
  const told = Buffer.concat([Buffer.from(kind[stream], 'hex'), Buffer.alloc(40)]);
  const objects = Buffer.concat([
    Buffer.from([2, 0, 0, 0, 1, 2]),
    asfObject('40a4d0d207e3d21197f000a0c95ea850', picture),
    asfObject('9107dcb7b7a9cf118ee600c00c205365', told),
  ]);
  return asfObject('3026b2758e66cf11a6d900aa0062ce6c', objects);
}

function asfObject(id: string, content: Buffer): Buffer {
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(24 + content.length));
  return Buffer.concat([Buffer.from(id, 'hex'), size, content]);
}

function mpegFrames(): Buffer {
  const frame = Buffer.alloc(417);
  frame.writeUInt32BE(0xfffb9000, 0);
  return Buffer.concat([frame, frame]);
}

function ogg(packet: Buffer): Buffer {
  const head = Buffer.alloc(28);
  head.write('OggS', 0, 'latin1');
  head.writeUInt8(2, 5);
  head.writeUInt8(1, 26);
  head.writeUInt8(packet.length, 27);
  return Buffer.concat([head, packet, Buffer.alloc(64)]);
}

/** A TIFF of one tag, whose directory begins there. */
function tiff(order: 'II' | 'MM', directoryAt: number): Buffer {
  const bytes = Buffer.alloc(directoryAt + 18);
  bytes.write(order, 0, 'latin1');
  const numbers = [
    [42, 2, 2],
    [directoryAt, 4, 4],
    [1, directoryAt, 2],
    [256, directoryAt + 2, 2],
  ] as const;
  for (const [value, at, size] of numbers) {
    if (order === 'II') bytes.writeUIntLE(value, at, size);
    else bytes.writeUIntBE(value, at, size);
  }
  return bytes;
}

function box(type: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length, 0);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, content]);
}

function handler(kind: 'soun' | 'vide'): Buffer {
  const content = Buffer.concat([Buffer.alloc(8), Buffer.from(kind), Buffer.alloc(13)]);
  return box('moov', box('trak', box('mdia', box('hdlr', content))));
}

function mp4(brand: string, more: Buffer = Buffer.alloc(0)): Buffer {
  const brands = Buffer.concat([Buffer.from(brand), Buffer.alloc(4), Buffer.from(`${brand}mp42`)]);
  return Buffer.concat([box('ftyp', brands), more, box('mdat', Buffer.alloc(32))]);
}

function element(id: string, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from(id, 'hex'), Buffer.from([0x80 | content.length]), content]);
}

function webm(codec: string, kind = 'webm'): Buffer {
  const docType = element('4282', Buffer.from(kind));
  const track = element('ae', element('86', Buffer.from(codec)));
  return Buffer.concat([element('1a45dfa3', docType), element('18538067', element('1654ae6b', track))]);
}

function pngChunk(type: string, content: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(content.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

function png(): Buffer {
  const header = Buffer.from('00000001000000010800000000', 'hex');
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    pngChunk('IHDR', header),
    pngChunk('IDAT', Buffer.alloc(10)),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function zip(name: string, content: Buffer): Buffer {
  const packed = deflateRawSync(content);
  const head = Buffer.alloc(30);
  head.writeUInt32LE(0x04034b50, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt16LE(8, 8);
  head.writeUInt32LE(crc32(content), 14);
  head.writeUInt32LE(packed.length, 18);
  head.writeUInt32LE(content.length, 22);
  head.writeUInt16LE(name.length, 26);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  return Buffer.concat([head, Buffer.from(name), packed, end]);
}
