import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTextType, typesOfDeclared, typesOfExtension } from '../../../src/content/media-types.ts';
import { signedTypes } from '../../../src/content/signed-types.ts';

/** What clients call a file of that extension, on one system or another. */
const declared = `
audio/wav wav, audio/x-wav wav, audio/wave wav, audio/vnd.wave wav, audio/mpeg mp3, audio/mp3 mp3, audio/x-m4a m4a, audio/mp4 m4a,
audio/flac flac, audio/x-flac flac, audio/ogg ogg, audio/ogg oga, audio/ogg opus, video/ogg ogg, application/ogg ogg, application/x-ogg ogg,
audio/x-opus+ogg opus, audio/x-vorbis+ogg ogg, audio/webm webm, video/webm webm, audio/webm weba, audio/aac aac,
audio/vnd.dlna.adts aac, audio/aac-adts aac, audio/amr amr, audio/3gpp 3gp, video/3gpp 3gp, audio/x-aiff aif, audio/aiff aiff,
audio/midi mid, audio/mid mid, audio/x-midi mid, audio/x-matroska mka, audio/x-ms-wma wma, audio/x-caf caf, audio/x-aifc aifc,
audio/x-ape ape, audio/ape ape, audio/x-wavpack wv, audio/wavpack wv, audio/ac3 ac3, audio/x-speex spx, audio/x-m4b m4b,
audio/mp2 mp2, audio/x-voc voc, audio/3gpp2 3g2, video/3gpp2 3g2, application/mp4 mp4, application/vnd.ms-asf asf,
video/x-ogm+ogg ogm, video/x-theora+ogg ogg, video/mp2t ts, video/vnd.dlna.mpeg-tts ts, video/vnd.dlna.mpeg-tts m2ts,
video/mp4 mp4, video/mp4 m4v, video/x-m4v m4v, video/quicktime mov, video/x-msvideo avi, video/avi avi, video/vnd.avi avi,
video/x-matroska mkv, video/matroska mkv, video/ogg ogv, video/mpeg mpg, video/mpeg mpeg, video/x-ms-wmv wmv,
image/png png, image/apng png, image/jpeg jpg, image/jpeg jpeg, image/jpeg jfif, image/gif gif, image/webp webp, image/avif avif,
image/heic heic, image/heif heic, image/heif heif, image/tiff tif, image/tiff tiff, image/bmp bmp, image/x-ms-bmp bmp, image/svg+xml svg,
image/x-icon ico, image/vnd.microsoft.icon ico, application/pdf pdf, application/rtf rtf, text/rtf rtf, application/msword doc,
application/msword rtf, application/vnd.ms-excel xls, application/vnd.ms-excel csv, application/postscript eps, image/x-eps eps,
application/postscript ai, application/illustrator ai, application/vnd.visio vsd, application/vnd.ms-visio.viewer vsd, application/x-msi msi,
application/epub+zip epub, application/zip zip, application/x-zip-compressed zip, application/gzip gz, application/x-gzip gz,
application/gzip tgz, application/x-gzip tgz, application/x-compressed-tar tgz, application/x-compressed-tar gz, application/x-tar tar,
application/x-gtar-compressed tgz, application/x-compressed tgz, application/x-compressed zip, application/x-compressed rar,
application/x-bzip bz2, application/x-bzip-compressed-tar bz2, application/x-xz xz, application/x-xz-compressed-tar xz,
application/vnd.rar rar, application/x-rar-compressed rar, application/x-7z-compressed 7z, application/zstd zst,
application/vnd.android.package-archive apk, application/font-woff woff, font/woff woff, font/woff2 woff2,
image/x-canon-cr2 cr2, image/x-canon-cr3 cr3, image/x-nikon-nef nef, image/x-sony-arw arw, image/x-olympus-orf orf,
image/x-panasonic-rw2 rw2, image/x-fuji-raf raf, image/x-adobe-dng dng, audio/x-dsf dsf, audio/x-dff dff, audio/qcelp qcp,
application/vnd.debian.binary-package deb, application/x-deb deb, application/x-debian-package deb, application/x-rpm rpm,
application/x-redhat-package-manager rpm, application/vnd.sqlite3 sqlite, application/x-sqlite3 sqlite,
application/vnd.apache.parquet parquet, application/json json, text/xml xml, application/xml xml, text/csv csv, text/comma-separated-values csv, text/plain txt, text/x-log log, text/html html, text/css css,
text/javascript js, application/javascript js, application/x-javascript js, text/markdown md, text/calendar ics, text/vtt vtt,
text/vcard vcf, text/x-vcard vcf, application/yaml yaml, application/x-yaml yaml, application/xhtml+xml xhtml,
audio/x-pn-wav wav, audio/mpeg3 mp3, audio/x-mpeg-3 mp3, audio/mpg mp3, audio/opus opus, audio/vorbis ogg, audio/flac+ogg oga,
audio/x-speex+ogg spx, audio/aacp aac, audio/x-hx-aac-adts aac, audio/amr-nb amr, image/jpg jpg, image/pjpeg jpg,
image/vnd.mozilla.apng png, application/x-iwork-keynote-sffkey key, application/x-iwork-numbers-sffnumbers numbers,
application/vnd.microsoft.portable-executable exe, application/x-rar rar, application/x-pdf pdf, application/x-rtf rtf, text/json json,
application/x-json json, application/csv csv, text/x-csv csv, application/x-ndjson ndjson, application/x-ndjson jsonl, application/jsonl jsonl,
audio/3gpp 3ga, image/heif hif, application/x-bzip-compressed-tar tbz2, application/x-xz-compressed-tar txz,
audio/mp4a-latm m4a, audio/caf caf, audio/wma wma, audio/quicktime qta
`;

test('a type that a client declares for a file agrees with its extension, on one that first bytes show or on a text', () => {
  const apart = declared.split(',').filter((pair) => {
    const [type = '', extension = ''] = pair.trim().split(' ');
    const types = typesOfExtension(extension);
    const common = types.filter((each) => typesOfDeclared(type)?.includes(each));
    return !common.some((each) => isTextType(each) || signedTypes().has(each));
  });
  assert.deepEqual(apart, []);
});
