/** Whether there is such a process. One that has ended counts until somebody has asked how. */
export function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
