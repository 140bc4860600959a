// Where the file of *Export everything* is in this browser, until it is removed or the account logs out.

/** @param {string} login */
export const folderOf = (login) => `pacebus.export.${login}`;
/**
 * The lock of the tab that writes it.
 *
 * @param {string} login
 */
export const lockOf = folderOf;
/** Milliseconds for a tab that loses the lock to close the file. */
const [closing, attempts] = [100, 20];

/** @returns {Promise<FileSystemDirectoryHandle>} rejected in browsers without a private file system */
const root = async () => navigator.storage.getDirectory();

/** Whether this browser can write it. Private windows of some browsers cannot, nor pages over plain HTTP. */
export async function canExport() {
  try {
    new CompressionStream("deflate-raw");
    await root();
    return navigator.locks !== undefined;
  } catch {
    return false;
  }
}

/** @param {string} login @returns {Promise<File>} */
export async function openExport(login) {
  const folder = await (await root()).getDirectoryHandle(folderOf(login));
  return (await folder.getFileHandle("zip")).getFile();
}

/**
 * Removes it, also while another tab writes it.
 *
 * @param {string} login
 */
export async function forgetExport(login) {
  const folders = await root().catch(() => undefined);
  if (!folders || !navigator.locks) return;
  await navigator.locks
    .request(lockOf(login), {steal: true},
      async () => {
        for (let attempt = 0; attempt < attempts; attempt++) {
          const error = await folders.removeEntry(folderOf(login), {recursive: true}).catch((error) => error);
          if (!error || error.name === "NotFoundError") return;
          await new Promise((resume) => setTimeout(resume, closing));
        }
      })
    .catch(() => {});
}
