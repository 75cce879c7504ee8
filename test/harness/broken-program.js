'use strict';
/** A program for `MediaProcesses` that fails as it starts. */
throw new Error('a module is missing');
