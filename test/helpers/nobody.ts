import { openSqlite } from '../../src/stores/sqlite/open-sqlite.ts';
import type { Store } from '../../src/stores/store.ts';

/** What the process is told to do with the store at its path. */
export type Errand = 'open' | 'probe' | 'close';

const NOBODY = 65_534;

// A process for which the modes of files count: for root they do not. It tells its parent what went wrong, '' when nothing did.
const [path = ''] = process.argv.slice(2);
let store: Store | undefined;

const errands: Readonly<Record<Errand, () => Promise<void> | undefined>> = {
  open() {
    store = openSqlite(path);
    return undefined;
  },
  probe: () => store?.probe(),
  close: () => store?.close(),
};

/** The modules that it needs are loaded by now. They may lie where nobody else looks. */
function becomeNobody(): void {
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}

async function run(errand: Errand): Promise<string> {
  try {
    await errands[errand]();
    return '';
  } catch (error) {
    return String(error);
  }
}

becomeNobody();
process.on('message', (errand) => void run(errand as Errand).then((said) => process.send?.(said)));
