/** Mocha's spec reporter, followed by one plain line with the counts. */
const Mocha = require('mocha');

class PlainLastLine extends Mocha.reporters.Spec {
  epilogue() {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    process.stdout.write(`${passes} passed, ${failures} failed, ${pending} skipped\n`);
  }
}

module.exports = PlainLastLine;
