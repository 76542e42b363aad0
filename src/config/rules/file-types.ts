import {
  hasExtension,
  isNamed,
  isTextType,
  matchesAny,
  typesOfDeclared,
  typesOfExtension,
  typesWithExtension,
} from '../../content/media-types.ts';
import { signedTypes } from '../../content/signed-types.ts';
import type { RawConfig } from '../schema.ts';
import { suggestNear } from '../wording.ts';
import { bodiesOf, formsOf, type Report, type Rule } from './draft.ts';

/** An extension tells a file's type, so that must be one that is taken. `audio/*` takes none that first bytes do not show. */
export const extensionsFitTypes: Rule = ({ config }, report) => {
  for (const { types, extensions } of fieldsWithBoth(config, report)) {
    for (const [at, extension] of extensions.entries()) {
      const meant = typesOfExtension(extension);
      const fitting = meant.filter((type) => matchesAny(type, types));
      if (fitting.some((type) => canPass(type, types))) continue;
      const cure = cureOf(meant, report.isHidden(extensions, String(at)));
      const refused = 'so a file with it is always refused';
      if (fitting.length > 0) {
        const why = 'is of a type without a known signature, which no wildcard takes';
        report.warning(extensions, String(at), `${why}, ${refused}: remove it, or ${cure}`);
      } else if (meant.length > 0) {
        report.problem(extensions, String(at), `fits none of types, ${refused}: ${cure}, or remove it`);
      } else {
        report.problem(extensions, String(at), `is not of a known type, ${refused}: remove it, or ${cure}`);
      }
    }
  }
};

/** `application/octet-stream`, which the registry has for some extensions, would not help. */
function cureOf(meant: readonly string[], isHidden: boolean): string {
  const telling = meant.filter((type) => typesOfDeclared(type) !== undefined);
  if (telling.length === 0) return 'leave out types';
  return `add ${isHidden ? 'its type' : telling.join(' or ')} to types`;
}

function canPass(type: string, types: readonly string[]): boolean {
  return isNamed(type, types) || isTextType(type) || signedTypes().has(type);
}

/** Beside a list of extensions a file has to have one of them. */
export const typesFitExtensions: Rule = ({ config }, report) => {
  for (const { types, extensions } of fieldsWithBoth(config, report)) {
    const meant = extensions.flatMap(typesOfExtension);
    for (const [at, type] of types.entries()) {
      if (typesOfDeclared(type) === undefined || meant.some((each) => matchesAny(each, [type]))) continue;
      const cure = hasExtension(type) ? 'add one of its extensions' : 'leave out extensions';
      const why = `fits none of extensions, so a file of this type is always refused: remove it, or ${cure}`;
      report.warning(types, String(at), why);
    }
  }
};

interface FieldWithBoth {
  readonly types: readonly string[];
  readonly extensions: readonly string[];
}

function fieldsWithBoth(config: RawConfig, report: Report): readonly FieldWithBoth[] {
  const fields = formsOf(config).flatMap(({ files }) => Object.values(files));
  return fields.flatMap((field) => {
    const { types, extensions } = field;
    const isWhole = types !== undefined && extensions !== undefined;
    return isWhole && !report.isBroken(field, 'types', 'extensions') ? { types, extensions } : [];
  });
}

/** A misspelt type would let nothing through, nor does one that says nothing; a private type is for its owners to know. */
export const typesAreKnown: Rule = ({ config }, report) => {
  const fields = formsOf(config).flatMap(({ files }) => Object.values(files));
  const bare = bodiesOf(config).flatMap(({ file }) => file ?? []);
  for (const { types = [] } of [...fields, ...bare]) {
    for (const [at, type] of types.entries()) {
      const doubt = doubtOf(type, report.isHidden(types, String(at)) ? '' : type);
      if (doubt !== undefined) report.warning(types, String(at), doubt);
    }
  }
};

function doubtOf(type: string, shown: string): string | undefined {
  if (typesOfDeclared(type) === undefined)
    return 'says nothing about a file, so hardly one passes: to take any, leave out types';
  if (familyWithoutSignature.test(type))
    return 'takes only types with a known signature, and none of these has one, so it takes no file: name the types';
  if (privateType.test(type) || hasExtension(type)) return undefined;
  return `is a type that no extension is known for${suggestNear(shown, typesWithExtension())}`;
}

/** The others have such a type, or are texts. */
const familyWithoutSignature = /^(?:chemical|message|x-conference)\/\*$/i;
const privateType = /\/(?:x[-.]|vnd\.|prs\.)/i;
