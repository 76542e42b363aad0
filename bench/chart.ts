import type { Line } from './line.ts';

const width = 860;
const labelWidth = 190;
const rowHeight = 26;
const barHeight = 16;
const top = 64;
const gap = 40;
const kinds = {
  gateway: { colour: '#0f766e', words: 'Gatehouse' },
  peer: { colour: '#64748b', words: 'same policy' },
  passthrough: { colour: '#cbd5e1', words: 'no policy' },
} as const;
const kindWidth = 100;
const dim = '#64748b';

/** Throughput to the left, CPU per request to the right, one row for each subject, the fastest first. */
export function drawChart(title: string, lines: readonly Line[]): string {
  const rows = lines.toSorted((a, b) => b.requestsPerSecond - a.requestsPerSecond);
  const height = top + rows.length * rowHeight + 24;
  const barsWidth = (width - labelWidth - gap - 24) / 2 - 56;
  const most = Math.max(...rows.map((row) => row.requestsPerSecond), 1);
  const dearest = Math.max(...rows.map((row) => row.cpuUs ?? 0), 1);
  const right = labelWidth + barsWidth + 56 + gap;
  const drawn = rows.map((row, at) => {
    const y = top + at * rowHeight;
    const rate = { x: labelWidth, y, length: (barsWidth * row.requestsPerSecond) / most };
    const cost = { x: right, y, length: (barsWidth * (row.cpuUs ?? 0)) / dearest };
    return [
      text(labelWidth - 10, y + 13, row.subject.name, 'end'),
      bar(rate, row, Math.round(row.requestsPerSecond).toLocaleString('en')),
      row.cpuUs === undefined ? text(right, y + 13, '–') : bar(cost, row, row.cpuUs.toFixed(0)),
    ].join('\n');
  });
  const legend = Object.values(kinds).map(({ colour, words }, at) => {
    const x = right + at * kindWidth;
    return `<rect x="${x}" y="16" width="11" height="11" rx="2" fill="${colour}"/>\n${text(x + 17, 26, words)}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="12" role="img">
<title>${escape(title)}</title>
<rect width="${width}" height="${height}" fill="#ffffff"/>
${text(24, 26, title, 'start', 15)}
${legend.join('\n')}
${text(labelWidth, 50, 'requests per second, more is better', 'start', 12, dim)}
${text(right, 50, 'CPU µs per request, less is better', 'start', 12, dim)}
${drawn.join('\n')}
</svg>
`;
}

function bar(at: { x: number; y: number; length: number }, { subject }: Line, value: string): string {
  const { x, y, length } = at;
  const long = Math.max(1, length).toFixed(1);
  return `<rect x="${x}" y="${y}" width="${long}" height="${barHeight}" rx="2" fill="${kinds[subject.kind].colour}"/>
${text(x + length + 6, y + 13, value)}`;
}

function text(
  x: number,
  y: number,
  words: string,
  ...[anchor = 'start', size = 12, fill = '#0f172a']: [anchor?: 'start' | 'end', size?: number, fill?: string]
): string {
  return `<text x="${x.toFixed(1)}" y="${y}" text-anchor="${anchor}" font-size="${size}" fill="${fill}">${escape(words)}</text>`;
}

function escape(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
