/** Runs tasks in order, at most one per event loop iteration, so that timers and sockets are served in between. */
export class TurnQueue {
  private readonly tasks: (() => void)[] = [];
  private scheduled = false;

  run(task: () => void): void {
    this.tasks.push(task);
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      const task = this.tasks.shift();
      if (this.tasks.length > 0) this.schedule();
      task?.();
    });
  }
}
