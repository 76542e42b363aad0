import {
  hasExtension,
  matchesAny,
  typesOfDeclared,
  typesOfExtension,
  typesWithExtension,
} from '../../content/media-types.ts';
import { suggestNear } from '../wording.ts';
import { bodiesOf, formsOf, type Rule } from './draft.ts';

/** An extension tells a file's type, so that must be one that is taken. */
export const extensionsFitTypes: Rule = ({ config }, report) => {
  for (const field of formsOf(config).flatMap(({ files }) => Object.values(files))) {
    const { types, extensions } = field;
    if (types === undefined || extensions === undefined || report.isBroken(field, 'types', 'extensions'))
      continue;
    for (const [at, extension] of extensions.entries()) {
      const meant = typesOfExtension(extension);
      if (meant.some((type) => matchesAny(type, types))) continue;
      const type = report.isHidden(extensions, String(at)) ? 'its type' : meant.join(' or ');
      const why =
        meant.length === 0
          ? 'is not of a known type, so a file with it is always refused: remove it, or leave out types'
          : `fits none of types, so a file with it is always refused: add ${type} to types, or remove it`;
      report.problem(extensions, String(at), why);
    }
  }
};

/** A misspelt type would let nothing through, nor does one that says nothing; a private type is for its owners to know. */
export const typesAreKnown: Rule = ({ config }, report) => {
  const fields = formsOf(config).flatMap(({ files }) => Object.values(files));
  const bare = bodiesOf(config).flatMap(({ file }) => file ?? []);
  for (const { types = [] } of [...fields, ...bare]) {
    for (const [at, type] of types.entries()) {
      if (typesOfDeclared(type) === undefined) {
        report.warning(
          types,
          String(at),
          'says nothing about a file, so hardly one passes: to take any, leave out types',
        );
        continue;
      }
      if (privateType.test(type) || hasExtension(type)) continue;
      const shown = report.isHidden(types, String(at)) ? '' : type;
      const cure = suggestNear(shown, typesWithExtension());
      report.warning(types, String(at), `is a type that no extension is known for${cure}`);
    }
  }
};

const privateType = /\/(?:x[-.]|vnd\.|prs\.)/i;
