import { styleText } from 'node:util';
import { printAddress } from '../config/addresses.ts';
import type { BodyRule, Config, JsonBodyRule, Route, UpstreamConfig, Version } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { printStore } from '../config/print-store.ts';
import { ConfigErrors, ConfigUnreadable } from '../config/problems.ts';
import { printSize } from '../config/units.ts';
import type { AllowedTypes, UploadRule } from '../config/upload-rule.ts';
import { counted, listed } from '../config/wording.ts';
import { alignRows } from './columns.ts';
import { exitCodes } from './exit-codes.ts';
import { whichFile } from './explain.ts';
import { printLimits } from './print-plan.ts';

/** As far as it is used here. */
interface Process {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
}

/** Prints what the configuration does, or everything wrong with it. Returns the exit code. */
export function check(file: string, { env, stdout, stderr }: Process): number {
  try {
    stdout.write(summary(loadConfig(file, env), stdout));
    return exitCodes.ok;
  } catch (error) {
    if (error instanceof ConfigUnreadable) {
      stderr.write(`${error.message} ${whichFile}\n`);
    } else if (error instanceof ConfigErrors) {
      const total = styleText('red', counted(error.count, 'error'), { stream: stderr });
      stderr.write(`${error.message}\n${total} in ${file}\n`);
    } else throw error;
    return exitCodes.failed;
  }
}

function summary(config: Config, stream: NodeJS.WritableStream): string {
  const admin = tokensText(config.admin);
  const facts = [
    ['listen', printAddress(config.listen)],
    ['admin', `${printAddress(config.admin.listen)} (${admin})`],
    ...(config.workers === 1 ? [] : [['workers', String(config.workers)]]),
    ['store', printStore(config.store)],
    [
      'key header',
      `${listed('or', config.auth.headers)}${config.auth.forwardKey ? ' (passed on to upstreams)' : ''}`,
    ],
    ...planFacts(config),
    ['upstreams', [...config.upstreams.values()].map(upstreamText).join(', ')],
    ['versions', [...config.versions.values()].map(versionText).join(', ') || 'none'],
    ...(config.usagePath === undefined ? [] : [['usage', config.usagePath]]),
  ];
  const lines = [
    `${config.file} ${styleText('green', 'is in order', { stream })}`,
    '',
    ...alignRows(facts).map(indent),
    '',
    ...alignRows(config.routes.map(routeCells)).map(indent),
    ...config.warnings.flatMap((warning) => ['', `${styleText('yellow', 'warning', { stream })} ${warning}`]),
  ];
  return `${lines.join('\n')}\n`;
}

const indent = (line: string): string => `  ${line}`;

function tokensText({ tokens }: Config['admin']): string {
  if (tokens.length === 0) return 'loopback only, no token, no admin API';
  return `tokens: ${tokens.map(({ name, role }) => `${name} (${role})`).join(', ')}`;
}

function planFacts(config: Config): readonly string[][] {
  const keys = Map.groupBy(config.keys, ({ plan }) => plan);
  const plans = [...config.plans.values()].map((plan) => {
    const count = counted(keys.get(plan.name)?.length ?? 0, 'static key');
    return `${plan.name} (${count}): ${printLimits(plan)}`;
  });
  if (plans.length === 0) return [['plans', 'none']];
  return plans.map((text, index) => [index === 0 ? 'plans' : '', text]);
}

function upstreamText({ name, targets, health }: UpstreamConfig): string {
  const checks = health === undefined ? '' : ` (health ${withoutQuery(health.path)})`;
  return `${name} → ${targets.join(' ')}${checks}`;
}

/** It may hold a token of the environment, and what is checked in a pipeline stays in its log. */
function withoutQuery(path: string): string {
  return path.replace(/\?.*/s, '?…');
}

function versionText({ name, upstream, deprecatedAt, sunsetAt, afterSunset }: Version): string {
  const notes = [
    ...(deprecatedAt === undefined ? [] : [`deprecated ${day(deprecatedAt)}`]),
    ...(sunsetAt === undefined ? [] : [`sunset ${day(sunsetAt)}, then ${afterSunset}`]),
  ];
  return `${name} → ${upstream}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
}

function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function routeCells(route: Route): readonly string[] {
  const name = route.name === route.path ? '' : `(${route.name})`;
  return [
    route.methods.join(' '),
    route.path,
    `→ ${route.upstream}${route.rebase === undefined ? '' : ` as ${route.rebase.path}`}`,
    bodyText(route.body),
    `cost ${route.cost}${route.costHeader === undefined ? '' : ` or ${route.costHeader}`}`,
    ...(route.upgrade === undefined ? [] : ['WebSocket']),
    name,
  ];
}

function bodyText(body: BodyRule): string {
  if (body.kind === 'none') return 'no body';
  if (body.kind === 'upload') return uploadText(body.upload);
  const most = printSize(body.sizeMax);
  return body.kind === 'any' ? `any body ≤ ${most}` : `JSON ≤ ${most}${schemaText(body)}`;
}

function schemaText({ schema }: Pick<JsonBodyRule, 'schema'>): string {
  if (schema === undefined) return '';
  return schema.onMismatch === 'report' ? ', schema (only reported)' : ', schema';
}

function uploadText(rule: UploadRule): string {
  const way = rule.forward === 'whole' ? 'whole' : 'streamed';
  if (rule.kind === 'file') return `file${fileText(rule)}, ${way}`;
  const files = [...rule.files].map(([name, file]) => `${name}${file.required ? '' : '?'}${fileText(file)}`);
  if (rule.others === 'allow') files.push(files.length === 0 ? 'any files' : 'any others');
  return `form ≤ ${printSize(rule.sizeMax)}: ${files.join(', ') || 'no files'}${schemaText(rule.fields)}, ${way}`;
}

function fileText({ sizeMax, types }: { sizeMax: number; types: AllowedTypes }): string {
  return ` ≤ ${printSize(sizeMax)}${types === undefined ? '' : ` (${types.join(' ')})`}`;
}
