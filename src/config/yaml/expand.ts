import { isAbsolute } from 'node:path';
import { readText, UnusableText } from '../read-text.ts';

/** What became of a text, or what is wrong with the `${…}` in it. The problem names variables and files, never their contents. */
type Expansion =
  | { readonly text: string; /** Whether any of it came from outside the YAML. */ readonly expanded: boolean }
  | { readonly problem: string };

const reference = /\$(?<escaped>\$\{)|\$\{(?<inner>[^}]*)(?<end>\}?)/g;
const variable = /^(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>.*))?$/s;

/**
 * Replaces `${NAME}`, `${NAME:-default}` (for a variable that is unset or empty) and `${file:/path}` in a text;
 * `$${` stands for a literal `${`. What is put in is not looked at again, so nothing can be smuggled through a variable.
 */
export function expandText(text: string, env: NodeJS.ProcessEnv): Expansion {
  let result = '';
  let expanded = false;
  let from = 0;
  for (const match of text.matchAll(reference)) {
    const { escaped, inner = '', end = '' } = match.groups ?? {};
    const value = escaped === undefined ? lookUp(inner, end, env) : { text: '${', expanded: false };
    if ('problem' in value) return value;
    result += text.slice(from, match.index) + value.text;
    expanded ||= value.expanded;
    from = match.index + match[0].length;
  }
  return { text: result + text.slice(from), expanded };
}

function lookUp(inner: string, end: string, env: NodeJS.ProcessEnv): Expansion {
  if (end === '') return { problem: 'a "${" has no "}" to end it (write "$${" for the characters "${")' };
  if (inner.includes('${')) return { problem: 'a "${…}" must not stand inside another one' };
  if (inner.startsWith('file:')) return fromFile(inner.slice('file:'.length));
  const { name, fallback } = variable.exec(inner)?.groups ?? {};
  if (name === undefined) {
    return {
      problem:
        'a "${…}" must be ${NAME}, ${NAME:-default} or ${file:/path} (write "$${" for the characters "${")',
    };
  }
  // `main.ts` takes it away from everybody.
  if (name === 'DEBUG')
    return { problem: 'the environment variable DEBUG cannot be used, choose another name' };
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (fallback !== undefined)
    return { text: value === undefined || value === '' ? fallback : value, expanded: true };
  if (value !== undefined) return { text: value, expanded: true };
  return {
    problem: `the environment variable ${name} is not set; set it or, unless it is a secret, write \${${name}:-default}`,
  };
}

function fromFile(path: string): Expansion {
  if (!isAbsolute(path))
    return { problem: 'the path in a "${file:…}" must be absolute, such as ${file:/run/secrets/key}' };
  try {
    return { text: readText(path).replace(/\r?\n$/, ''), expanded: true };
  } catch (error) {
    if (error instanceof UnusableText) return { problem: `the file ${path} ${error.message}` };
    throw error;
  }
}
