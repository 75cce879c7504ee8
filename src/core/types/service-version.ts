import packageFile from '../../../package.json';

export const SERVICE_VERSION: string = packageFile.version;
