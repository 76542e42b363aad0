import { busy } from './upload-refusals.ts';

/**
 * Loads a library with the first upload that needs it, because most gateways never do. It fails where no file can be opened, which
 * says nothing about the upload; the next one tries again.
 */
export async function loadLibrary<Library>(load: () => Promise<Library>): Promise<Library> {
  try {
    return await load();
  } catch (cause) {
    throw busy('what reads uploads cannot be loaded', cause);
  }
}
