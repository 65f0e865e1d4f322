import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * Who holds a lease: `host|pid|start`, where start tells a process from a later one of the same number. On Linux it is
 * the start time in /proc/<pid>/stat (field 22, proc(5)); elsewhere it is empty and only the number is looked at.
 */
export function thisOwner(): string {
  return `${hostname()}|${process.pid}|${startOf(process.pid) ?? ''}`;
}

/** True only where the owner was a process of this machine that certainly no longer exists. */
export function isGone(owner: string): boolean {
  const [host, pidText, start] = owner.split('|');
  const pid = Number(pidText);
  if (host !== hostname() || !Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  const now = startOf(pid);
  return start !== undefined && start !== '' && now !== undefined && now !== start;
}

function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended; nobody has asked how.
    if (fields[0] === 'Z') return 'ended';
    return fields[19];
  } catch {
    return undefined;
  }
}
