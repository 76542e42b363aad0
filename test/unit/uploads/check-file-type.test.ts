import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FileTypeParser } from 'file-type';
import { Refusal } from '../../../src/refusals.ts';
import { FileTypeCheck } from '../../../src/uploads/check-file-type.ts';
import { id3Tag, samples } from '../../helpers/sample-files.ts';

type Sample = keyof typeof samples;
type Case = readonly [
  sample: Sample,
  fileName: string | undefined,
  declared: string | undefined,
  allowed: string,
];

const sound = 'audio/wav audio/mpeg audio/flac audio/ogg';
const office = 'application/vnd.openxmlformats-officedocument';

const accepted: readonly Case[] = [
  ['wav', 'a.wav', 'audio/wav', sound],
  ['wav', 'a.WAV', 'audio/x-wav', sound],
  ['wav', 'a.wav', 'audio/wav', 'audio/x-wav'],
  ['wav', 'a.wav', undefined, sound],
  ['wav', 'recording', undefined, sound],
  ['wav', '12… 録音：１．wav', 'audio/wav', sound],
  ['wav', undefined, 'audio/wav', sound],
  ['wav', undefined, undefined, sound],
  ['wav', 'a.wav', 'application/octet-stream', sound],
  ['wav', 'a.wav', 'audio/wav', 'audio/*'],
  ['wav', 'a.wav', 'audio/wav', '*/*'],
  ['waveOf64Bits', 'a.wav', 'audio/wav', sound],
  ['waveOfBroadcasts', 'a.wav', 'audio/wav', sound],
  ['waveInBigEndian', 'a.wav', 'audio/x-wav', sound],
  ['wav', 'a.wav', 'audio/wav', 'Audio/*'],
  ['mp3', 'a.mp3', 'audio/mpeg', sound],
  ['mp3AfterZeros', 'a.mp3', 'audio/mpeg', sound],
  ['mp3AfterTagAndZeros', 'a.mp3', 'audio/mpeg', sound],
  ['mp3Tagged', 'a.mp3', 'audio/x-mp3', sound],
  ['mp3Picture', 'a.mp3', 'audio/mpeg', sound],
  ['mp3Picture', undefined, undefined, 'audio/mpeg'],
  ['flacPicture', 'a.flac', 'audio/flac', sound],
  ['wma', 'a.wma', 'audio/x-ms-wma', 'audio/*'],
  ['wmaPicture', 'a.wma', 'audio/x-ms-wma', 'audio/*'],
  ['wmaPicture', 'a.wmv', 'video/x-ms-wmv', 'video/*'],
  ['wmaPicture', 'a.asf', 'video/x-ms-asf', 'video/*'],
  ['wma', 'a.asf', 'video/x-ms-asf', 'video/*'],
  ['wmv', 'a.wmv', 'video/x-ms-wmv', 'video/*'],
  ['flac', 'a.flac', 'audio/x-flac', sound],
  ['oggVorbis', 'a.ogg', 'audio/ogg', sound],
  ['oggVorbis', 'a.ogg', 'application/ogg', sound],
  ['oggVorbis', 'a.ogg', 'video/ogg', sound],
  ['oggVorbis', 'a.oga', 'application/ogg', 'application/ogg'],
  ['oggOpus', 'a.opus', 'audio/ogg', sound],
  ['oggTheora', 'a.ogv', 'application/ogg', 'video/*'],
  ['oggTheora', 'a.ogg', 'application/ogg', 'application/ogg'],
  ['oggTheora', 'a.ogg', 'video/ogg', 'video/*'],
  ['oggOpus', 'a.opus', 'application/ogg', 'application/ogg'],
  ['oggSkeleton', 'a.oga', 'audio/ogg', sound],
  ['oggSkeleton', 'a.ogv', 'video/ogg', 'video/*'],
  ['m4a', 'a.m4a', 'audio/x-m4a', 'audio/mp4'],
  ['m4a', 'a.m4a', 'audio/mp4', 'audio/*'],
  ['m4a', 'a.m4a', 'audio/mpeg', 'audio/mp4'],
  ['threeGpSound', 'a.m4a', 'audio/mp4', 'audio/mp4'],
  ['threeGpSound', 'a.3gp', 'audio/3gpp', 'audio/*'],
  ['quickTimeSound', 'a.m4a', 'audio/x-m4a', 'audio/mp4'],
  ['quickTimePictures', 'a.mov', 'video/quicktime', 'video/*'],
  ['mp4Sound', 'a.m4a', 'audio/mp4', 'audio/mp4'],
  ['mp4Sound', 'a.mp4', 'audio/mp4', 'audio/*'],
  ['mp4Pictures', 'a.mp4', 'video/mp4', 'video/mp4'],
  ['mp4Pictures', 'a.m4v', 'video/mp4', 'video/*'],
  ['mp4Pictures', 'a.m4v', 'video/x-m4v', 'video/x-m4v'],
  ['webmSound', 'a.webm', 'audio/webm', 'audio/webm'],
  ['webmSound', 'a.webm', 'video/webm', 'audio/webm'],
  ['webmSound', 'blob', 'audio/webm', 'audio/*'],
  ['webmPictures', 'a.webm', 'video/webm', 'video/*'],
  ['matroskaSound', 'a.mka', 'video/x-matroska', 'audio/*'],
  ['matroskaSound', 'blob', 'audio/webm', 'audio/webm'],
  ['matroskaSound', 'a.webm', 'video/webm', 'audio/*'],
  ['matroskaPictures', 'a.webm', 'video/webm', 'video/webm'],
  ['quickTimeSound', 'a.qta', undefined, 'audio/*'],
  ['quickTimeSound', 'a.qta', 'audio/x-quicktime', 'audio/quicktime'],
  ['aac', 'a.aac', 'audio/aac', 'audio/aac'],
  ['amr', 'a.amr', 'audio/amr', 'audio/*'],
  ['amrWide', 'a.awb', 'audio/AMR-WB', 'audio/AMR-WB'],
  ['amrWide', 'a.amr', 'audio/amr', 'audio/amr'],
  ['aiff', 'a.aiff', 'audio/x-aiff', 'audio/*'],
  ['midi', 'a.mid', 'audio/mid', 'audio/*'],
  ['matroskaSound', 'a.mka', 'audio/x-matroska', 'audio/*'],
  ['matroskaPictures', 'a.mkv', 'video/x-matroska', 'video/*'],
  ['monkeysAudio', 'a.ape', 'audio/x-ape', 'audio/*'],
  ['wavPack', 'a.wv', 'audio/x-wavpack', 'audio/*'],
  ['ac3', 'a.ac3', 'audio/ac3', 'audio/ac3'],
  ['oggMedia', 'a.ogm', 'video/x-ogm+ogg', 'video/*'],
  ['mp4Pictures', 'a.mp4', 'application/mp4', 'video/mp4'],
  ['mp4Sound', 'a.mp4', 'application/mp4', 'audio/mp4'],
  ['wmv', 'a.asf', 'application/vnd.ms-asf', 'video/*'],
  ['avi', 'a.avi', 'video/x-msvideo', 'video/*'],
  ['bmp', 'a.bmp', 'image/x-ms-bmp', 'image/bmp'],
  ['icon', 'a.ico', 'image/vnd.microsoft.icon', 'image/*'],
  ['png', 'a.png', 'image/png', 'image/png'],
  ['jpeg', 'a.jpg', 'image/jpeg', 'image/*'],
  ['gif', 'a.gif', 'image/gif', 'image/gif'],
  ['pdf', 'a.pdf', 'application/pdf', 'application/pdf'],
  ['pdfAfterLineBreak', 'a.pdf', 'application/pdf', 'application/pdf'],
  ['tiffDirectoryFirst', 'a.tif', 'image/tiff', 'image/tiff'],
  ['tiffDirectoryLast', 'a.tif', 'image/tiff', 'image/tiff'],
  ['tiffInBigEndian', 'a.tiff', 'image/tiff', 'image/*'],
  ['zip', 'a.zip', 'application/x-zip-compressed', 'application/zip'],
  ['zip', 'a.kmz', 'application/vnd.google-earth.kmz', 'application/vnd.google-earth.kmz'],
  [
    'zip',
    'a.xlsb',
    'application/vnd.ms-excel.sheet.binary.macroEnabled.12',
    'application/vnd.ms-excel.sheet.binary.macroEnabled.12',
  ],
  ['zip', 'a.usdz', 'model/vnd.usdz+zip', 'model/*'],
  ['zip', 'a.apk', 'application/vnd.android.package-archive', 'application/vnd.android.package-archive'],
  ['zipOfWords', 'a.zip', 'application/zip', 'application/zip'],
  ['epub', 'a.zip', 'application/zip', 'application/zip'],
  ['epub', 'a.epub', 'application/epub+zip', 'application/epub+zip'],
  ['documentCutOff', 'a.docx', undefined, `${office}.wordprocessingml.document`],
  ['documentCutOff', 'a.docm', undefined, 'application/vnd.ms-word.document.macroEnabled.12'],
  ['documentCutOff', 'a.dotx', undefined, `${office}.wordprocessingml.template`],
  ['workbookCutOff', 'a.xlsm', undefined, 'application/vnd.ms-excel.sheet.macroEnabled.12'],
  ['workbookCutOff', 'a.xltx', undefined, 'application/*'],
  ['slidesCutOff', 'a.ppsx', undefined, `${office}.presentationml.slideshow`],
  ['documentCutOff', 'a.dotm', undefined, 'application/*'],
  ['workbookCutOff', 'a.xltm', undefined, 'application/*'],
  ['slidesCutOff', 'a.pptm', undefined, 'application/*'],
  ['slidesCutOff', 'a.ppsm', undefined, 'application/*'],
  ['slidesCutOff', 'a.potm', undefined, 'application/*'],
  ['playlist', 'a.m3u', 'audio/x-mpegurl', 'audio/* audio/x-mpegurl'],
  ['playlist', 'a.m3u', 'audio/x-mpegurl', '*/*'],
  ['au', 'a.au', 'audio/basic', 'audio/*'],
  ['zeros', 'a.mts', 'model/vnd.mts', 'model/vnd.mts'],
  ['zeros', 'a.pgp', 'application/pgp-encrypted', 'application/pgp-encrypted'],
  ['exe', 'a.exe', 'application/x-msdos-program', 'application/*'],
  ['photoOfCanon', 'a.cr2', 'image/x-canon-cr2', 'image/*'],
  ['tiffInBigEndian', 'a.nef', 'image/x-nikon-nef', 'image/*'],
  ['tiffInBigEndian', 'a.dng', 'image/x-adobe-dng', 'image/*'],
  ['tiffDirectoryFirst', 'a.arw', undefined, 'image/x-sony-arw'],
  ['photoOfFuji', 'a.raf', 'image/x-fuji-raf', 'image/*'],
  ['debianPackage', 'a.deb', 'application/vnd.debian.binary-package', 'application/*'],
  ['rpm', 'a.rpm', 'application/x-redhat-package-manager', 'application/x-rpm'],
  ['sqlite', 'a.sqlite', 'application/vnd.sqlite3', 'application/vnd.sqlite3'],
  ['dsf', 'a.dsf', 'audio/x-dsf', 'audio/*'],
  ['pages', 'a.pages', 'application/x-iwork-pages-sffpages', 'application/vnd.apple.pages'],
  ['text', 'a.sql', 'application/x-sql', 'application/sql'],
  ['stlInText', 'a.stl', 'model/stl', 'model/stl'],
  ['stlInBytes', 'a.stl', 'model/stl', 'model/stl'],
  ['disc', 'a.iso', 'application/x-iso9660-image', 'application/x-iso9660-image'],
  ['avifByMinorBrand', 'a.avif', 'image/avif', 'image/avif'],
  ['jar', 'a.jar', 'application/java-archive', 'application/java-archive'],
  ['jar', 'a.apk', 'application/vnd.android.package-archive', 'application/vnd.android.package-archive'],
  ['jar', 'a.zip', 'application/zip', 'application/zip'],
  ['gzip', 'a.gz', 'application/x-gzip', 'application/gzip'],
  ['heif', 'a.heic', 'image/heic', 'image/heic'],
  ['heic', 'a.heic', 'image/heif', 'image/heic'],
  ['heic', 'a.heif', 'image/heif', 'image/heif'],
  ['heicSequence', 'a.heic', 'image/heic', 'image/heic'],
  ['heifSequence', 'a.heic', 'image/heic', 'image/*'],
  ['m4v', 'a.m4v', 'video/x-m4v', 'video/*'],
  ['m4v', 'a.m4v', 'video/mp4', 'video/mp4'],
  ['threeGpPictures', 'a.mp4', 'video/mp4', 'video/mp4'],
  ['threeG2Sound', undefined, 'audio/3gpp2', 'audio/*'],
  ['eps', 'a.eps', 'application/postscript', 'application/postscript'],
  ['pdf', 'a.ai', 'application/postscript', 'application/pdf'],
  ['postScript', 'a.ai', 'application/illustrator', 'application/postscript'],
  ['mpegProgram', 'a.mpg', 'video/mpeg', 'video/mpeg'],
  ['mpegSystem', 'a.mpeg', 'video/mpeg', 'video/*'],
  ['rar', 'a.rar', 'application/vnd.rar', 'application/vnd.rar'],
  ['zstd', 'a.zst', 'application/zstd', 'application/zstd'],
  ['rar', 'a.rar', 'application/x-compressed', 'application/vnd.rar'],
  ['zip', 'a.zip', 'application/x-compressed', 'application/zip'],
  ['compoundFile', 'a.ppt', 'application/vnd.ms-powerpoint', 'application/vnd.ms-powerpoint'],
  ['compoundFile', 'a.vsd', 'application/vnd.visio', 'application/vnd.visio'],
  ['compoundFile', 'a.msi', 'application/x-msi', 'application/x-msi'],
  ['compoundFile', 'a.msg', 'application/vnd.ms-outlook', 'application/vnd.ms-outlook'],
  ['vcard', 'a.vcf', 'text/vcard', 'text/vcard'],
  ['rtf', 'a.rtf', 'application/msword', 'application/rtf'],
  ['csv', 'a.csv', 'text/csv', 'text/csv'],
  ['csv', 'a.csv', 'application/vnd.ms-excel', 'text/csv'],
  ['csv', 'a.csv', undefined, 'text/csv'],
  ['csv', 'data', 'text/csv', 'text/*'],
  ['bmwCsv', 'a.csv', 'text/csv', 'text/csv'],
  ['json', 'a.json', 'application/json', 'application/json'],
  ['json', 'a.geojson', 'application/geo+json', 'application/geo+json'],
  ['text', 'a.txt', 'text/plain', 'text/plain'],
  ['xml', 'a.txt', 'text/plain', 'text/plain'],
  ['webvtt', 'a.txt', 'text/plain', 'text/plain'],
  ['xml', 'a.xml', 'text/xml', 'application/xml'],
  ['svg', 'a.svg', 'image/svg+xml', 'image/svg+xml'],
  ['svg', 'a.svg', 'image/svg+xml', 'image/*'],
  ['json', undefined, 'model/x-own+json', 'model/x-own+json'],
  ['json', undefined, 'application/x-own+json', 'application/*'],
  ['xml', 'a.svg', 'image/svg+xml', 'image/svg+xml'],
  ['html', 'a.html', 'text/html', 'text/html'],
  ['xml', 'a.html', 'text/html', 'text/html'],
];

const refused: readonly Case[] = [
  ['text', 'a.wav', 'audio/wav', sound],
  ['text', 'a.txt', 'text/plain', sound],
  ['mp3', 'a.wav', 'audio/wav', sound],
  ['wmaPicture', 'a.mp3', 'audio/mpeg', sound],
  ['wmv', 'a.wma', 'audio/x-ms-wma', 'audio/*'],
  ['wav', 'a.mp3', 'audio/wav', sound],
  ['wav', 'a.wav', 'audio/mpeg', sound],
  ['wav', 'a.exe', 'audio/wav', sound],
  ['text', 'a.au', 'audio/basic', 'audio/basic'],
  ['zeros', 'a.snd', 'audio/basic', '*/*'],
  ['wav', 'a.unheardof', 'audio/wav', sound],
  ['wav', 'a.', 'audio/wav', sound],
  ['wav', 'a．php', 'audio/wav', sound],
  ['wav', 'a․ｐｈｐ', 'audio/wav', sound],
  ['wav', 'a.wav', 'text/plain', sound],
  ['wav', 'a.wav', 'audio/wav', 'image/*'],
  ['exe', 'a.wav', 'audio/wav', sound],
  ['exe', undefined, 'application/x-own', 'application/x-own'],
  ['elf', 'a.wav', 'application/octet-stream', sound],
  ['zeros', 'a.wav', 'audio/wav', sound],
  ['zip', 'a.wav', 'audio/wav', sound],
  ['html', 'a.mp3', 'audio/mpeg', sound],
  ['oggTheora', 'a.ogg', 'audio/ogg', sound],
  ['oggTheora', 'a.ogg', 'video/ogg', sound],
  ['tagCutOff', 'a.mp3', 'audio/mpeg', sound],
  ['oggOpusTheora', 'a.ogg', 'audio/ogg', sound],
  ['oggOpusTheoraAfterMark', 'a.ogg', 'audio/ogg', sound],
  ['oggOpusVp8', 'a.ogg', 'audio/ogg', sound],
  ['oggOpusDirac', 'a.ogg', 'audio/ogg', sound],
  ['oggOpusMedia', 'a.ogg', 'audio/ogg', sound],
  ['mp4Pictures', 'a.m4a', 'audio/mp4', 'audio/*'],
  ['m4aPictures', 'a.m4a', 'audio/mp4', 'audio/mp4'],
  ['m4bPictures', 'a.m4b', 'audio/mp4', 'audio/*'],
  ['threeGpPictures', 'a.3gp', 'audio/3gpp', 'audio/*'],
  ['threeGpPictures', 'a.m4a', 'audio/mp4', 'audio/mp4'],
  ['quickTimePictures', 'a.m4a', 'audio/mp4', 'audio/mp4'],
  ['webmPictures', 'a.webm', 'audio/webm', 'audio/webm'],
  ['webmTheora', 'a.webm', 'audio/webm', 'audio/webm'],
  ['matroskaPictures', 'a.mka', 'audio/x-matroska', 'audio/*'],
  ['webmPictures', 'a.webm', 'video/webm', 'audio/*'],
  ['matroskaPictures', 'a.mka', 'video/x-matroska', 'audio/*'],
  ['matroskaPictures', 'a.webm', 'audio/webm', 'audio/*'],
  ['webmSound', 'a.mka', 'audio/webm', 'audio/*'],
  ['quickTimePictures', 'a.qta', undefined, 'audio/*'],
  ['quickTimeSound', 'a.qta', undefined, 'audio/mp4'],
  ['webmSound', 'a.mp4', 'video/webm', 'audio/webm'],
  ['m4a', 'a.mp4', 'video/mp4', 'video/mp4'],
  ['m4a', 'a.mp3', 'audio/mpeg', 'audio/*'],
  ['m4a', 'a.m4a', 'audio/mpeg', 'audio/mpeg'],
  ['mp3', 'a.m4a', 'audio/mpeg', 'audio/*'],
  ['m4a', 'a.mp4', 'application/mp4', 'video/mp4'],
  ['eps', 'a.ai', 'application/pdf', 'application/pdf'],
  ['png', 'a.zip', 'application/x-compressed', 'application/zip'],
  ['png', 'a.jpg', 'image/jpeg', 'image/*'],
  ['png', 'a.png', 'image/jpeg', 'image/*'],
  ['svg', 'a.png', 'image/png', 'image/*'],
  ['wav', 'a.kmz', 'application/vnd.google-earth.kmz', 'application/vnd.google-earth.kmz'],
  ['zip', 'a.docx', undefined, `${office}.wordprocessingml.document`],
  ['documentCutOff', 'a.xlsx', undefined, `${office}.spreadsheetml.sheet`],
  ['epub', 'a.docx', undefined, 'application/*'],
  ['png', 'a.stl', 'model/stl', 'model/stl'],
  ['heic', 'a.avif', 'image/avif', 'image/avif'],
  ['heif', 'a.avif', 'image/avif', 'image/avif'],
  ['avifByMinorBrand', 'a.heic', 'image/heic', 'image/heic'],
  ['latin1', 'a.csv', 'text/csv', 'text/csv'],
  ['utf16', 'a.csv', 'text/csv', 'text/csv'],
  ['png', 'a.txt', 'text/plain', 'text/*'],
  ['playlist', 'a.m3u', 'audio/x-mpegurl', 'audio/*'],
  ['playlist', 'a', 'audio/x+json', 'audio/*'],
  ['text', undefined, 'image/x+yaml', 'image/*'],
  ['iffPictures', 'a.aiff', 'audio/aiff', 'audio/*'],
  ['zeros', 'a.au', 'audio/basic', 'audio/*'],
  ['text', 'a.mp4', undefined, '*/*'],
  ['text', 'a.mp4', 'application/mp4', 'application/mp4'],
  ['text', 'a.rar', 'application/octet-stream', 'application/*'],
  ['text', 'a.exe', undefined, 'application/*'],
  ['text', 'a.pages', 'application/x-iwork-pages-sffpages', '*/*'],
  ['zeros', 'a.sql', undefined, 'application/*'],
  ['pdf', 'a.txt', 'text/plain', 'text/plain'],
  ['pdfAfterLineBreak', 'a.txt', 'text/plain', 'text/plain'],
  ['pdf', 'a.txt', 'text/plain', 'text/plain application/pdf'],
  ['rtf', 'a.txt', 'text/plain', 'text/plain'],
  ['rtf', 'a.doc', 'application/msword', 'application/msword'],
  ['postScript', 'a.txt', 'text/plain', 'text/plain'],
  ['eps', 'a.txt', 'text/plain', 'text/plain'],
  ['webvtt', 'a.csv', 'text/csv', 'text/csv'],
  ['aiff', 'a.txt', 'text/plain', 'text/plain'],
  ['amr', 'a.txt', 'text/plain', 'text/plain'],
  ['xml', 'a.csv', 'text/csv', 'text/csv'],
  ['html', 'a.csv', 'text/html', 'text/csv'],
  ['csv', undefined, undefined, 'text/csv'],
  ['json', 'a.json', 'text/csv', 'application/json'],
  ['wav', 'a.csv', 'text/csv', 'text/csv audio/wav'],
];

describe('a file passes when declared type, extension and content agree on one allowed type', () => {
  for (const [sample, fileName, type, allowed] of accepted) {
    it(`takes ${sample} as ${fileName} declared ${type} where ${allowed} is allowed`, async () => {
      await check(samples[sample], fileName, type, allowed);
    });
  }
});

describe('a file is refused when one claim does not agree', () => {
  for (const [sample, fileName, type, allowed] of refused) {
    it(`refuses ${sample} as ${fileName} declared ${type} where ${allowed} is allowed`, async () => {
      await assert.rejects(check(samples[sample], fileName, type, allowed), isUnsupported);
    });
  }
});

describe('a type that is a text is one to its last byte', () => {
  const texts = `application/json application/jsonl application/x-ndjson application/xml application/yaml application/toml
    application/sql application/graphql application/x-subrip application/geo+json image/svg+xml application/x-own+yaml text/x-own`;
  for (const type of texts.split(/\s+/)) {
    it(`whether it is called text or ${type}`, async () => {
      await assert.rejects(check(samples.latin1, undefined, type, type), isUnsupported);
    });
  }
});

describe('letters that begin a format of bytes are no evidence against a text', () => {
  const beginnings = [
    'MAC Address,IP',
    'FORM 10-K',
    'SQLite notes',
    'solid state drives are good',
    'RIFFs by WAVE',
    'ID3 tags and how to read them',
    'BMW',
    '070707,1',
    'Obj',
    'OggS is the mark that begins each page of the container',
    '%!TEX root = main.tex',
    '-----BEGIN PGP MESSAGE-----',
    '\ufeffMAC Address,IP',
  ];
  for (const beginning of beginnings) {
    it(`takes a text that begins with ${JSON.stringify(beginning)}`, async () => {
      const text = Buffer.from(`${beginning}\n${'a line of words\n'.repeat(20)}`);
      await check(text, 'a.csv', 'text/csv', 'text/csv');
      await check(text, 'a.txt', 'text/plain', 'text/plain application/pdf');
    });
  }

  it('has to be claimed', async () => {
    const text = Buffer.from('MAC Address,IP\n');
    await assert.rejects(check(text, undefined, undefined, 'text/csv'), isUnsupported);
    await assert.rejects(check(text, 'a.ape', undefined, 'text/csv'), isUnsupported);
  });

  it('is about letters: control characters that begin a format are evidence', async () => {
    await assert.rejects(
      check(Buffer.from('\x04"M\x18 begins LZ4, and words follow\n'), 'a.txt', 'text/plain', 'text/plain'),
      isUnsupported,
    );
  });
});

describe('the check of a file type', () => {
  it('takes a sound behind a tag that ends wherever the sample does', async () => {
    const sounds = [
      ['mp3', 'audio/mpeg'],
      ['aac', 'audio/aac'],
      ['flac', 'audio/flac'],
    ] as const;
    for (const [name, type] of sounds) {
      for (let tagBytes = 16_370; tagBytes < 16_390; tagBytes += 1) {
        const tagged = Buffer.concat([id3Tag(tagBytes - 10), samples[name]]);
        await check(tagged, `a.${name}`, type, type);
      }
    }
  });

  const faults: readonly (readonly [...Case, fault: string])[] = [
    ['text', 'a.wav', 'audio/wav', sound, `one of ${sound.replaceAll(' ', ', ')}: its content is not`],
    ['text', 'a.wav', undefined, 'audio/*', 'audio/*: its content is not'],
    ['wav', 'a.txt', 'audio/wav', 'audio/wav', 'audio/wav: its name is not'],
    ['wav', 'a.unheardof', undefined, 'audio/wav', 'audio/wav: its name is not'],
    ['wav', 'a.wav', 'image/png', 'audio/wav', 'audio/wav: its declared type is not'],
    ['png', 'a.png', 'audio/wav', 'audio/wav', 'audio/wav: its name and its content are not'],
    [
      'png',
      'a.png',
      'image/png',
      'audio/wav',
      'audio/wav: its name, its declared type and its content are not',
    ],
    ['m4aPictures', 'a.m4a', 'audio/mp4', 'audio/mp4', 'audio/mp4: its content is not'],
    ['csv', 'data', undefined, 'text/csv', 'text/csv: nothing says that it is'],
    ['csv', undefined, 'application/octet-stream', 'text/csv', 'text/csv: nothing says that it is'],
    ['text', 'a.qqq', 'foo/bar', '*/*', 'of a known type: its name is not'],
    ['text', 'a.wav', 'audio/wav', '*/*', 'of a known type: its content is not'],
    ['latin1', 'a.csv', 'text/csv', 'text/csv', 'text in UTF-8'],
    [
      'png',
      'a.jpg',
      'image/jpeg',
      'image/*',
      'of one type: its name, its declared type and its content differ',
    ],
    ['png', 'a.jpg', undefined, 'image/png image/jpeg', 'of one type: its name and its content differ'],
    [
      'wav',
      undefined,
      'audio/mp3',
      'audio/x-wav audio/mpeg',
      'of one type: its declared type and its content differ',
    ],
    ['text', 'a.txt', 'text/csv', '*/*', 'of one type: its name and its declared type differ'],
  ];
  for (const [sample, fileName, type, allowed, fault] of faults) {
    it(`says of ${sample} as ${fileName} declared ${type} that it must be ${fault}`, async () => {
      await assert.rejects(check(samples[sample], fileName, type, allowed), {
        code: 'file_unsupported',
        publicMessage: `file must be ${fault}`,
      });
    });
  }

  it('survives any bytes at all', async () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const bytes = Buffer.from(Object.values(samples)[seed % Object.values(samples).length] ?? '');
      for (let at = seed % 7; at < bytes.length; at += 11) bytes[at] = (at * 31 + seed * 17) & 0xff;
      await check(bytes, undefined, undefined, '*/*').catch((error: unknown) => {
        assert.ok(isUnsupported(error), String(error));
      });
    }
  });
});

async function check(
  bytes: Buffer,
  fileName: string | undefined,
  type: string | undefined,
  allowed: string,
): Promise<void> {
  const types = new FileTypeCheck(allowed.split(' '), { label: 'file', type, charset: undefined, fileName });
  types.write(bytes);
  await types.decide();
  types.end();
  await types.decide();
  assert.equal(types.isDecided(), true);
}

function isUnsupported(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'file_unsupported';
}

it('no archive of one file is unpacked to see what it holds, whatever is before it', async (t) => {
  t.mock.method(AbortSignal, 'timeout', () => AbortSignal.abort());
  const prefixes = [id3Tag(10), id3Tag(0), Buffer.from('\ufeff\ufeff')];
  const archives = [samples.gzip, Buffer.concat([...prefixes, samples.gzip])];
  for (const archive of archives) {
    await check(archive, 'a.gz', 'application/gzip', 'application/gzip');
  }
});

const aWave = ['a.wav', 'audio/wav', 'audio/wav'] as const;

it('a type that cannot be told in time is no word against the file', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(FileTypeParser.prototype, 'fromBuffer', () => {
    t.mock.timers.tick(5000);
    return Promise.reject(new Error('given up'));
  });
  await assert.rejects(check(samples.wav, ...aWave), { code: 'spool_full' });
});

it('a type that is read for ever is given up', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(FileTypeParser.prototype, 'fromBuffer', () => {
    setImmediate(() => t.mock.timers.tick(5000));
    return new Promise(() => {});
  });
  await assert.rejects(check(samples.wav, ...aWave), { code: 'spool_full' });
});

it('of a type that was told nothing waits for its deadline: a form may have a thousand files', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const abort = t.mock.method(AbortController.prototype, 'abort');
  await check(samples.wav, ...aWave);
  t.mock.timers.runAll();
  assert.equal(abort.mock.callCount(), 0);
});

it('a fault in what reads types is no signature', async (t) => {
  t.mock.method(FileTypeParser.prototype, 'fromBuffer', () => Promise.reject(new Error('a fault')));
  await assert.rejects(check(samples.wav, ...aWave), isUnsupported);
});
