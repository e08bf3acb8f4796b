import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';

/** Write LICENSES.txt: the licences of the packages of which the browser gets a part. */
export function licences(): Plugin {
	let forServer = false;
	return {
		name: 'stoker-licences',
		configResolved(config) {
			forServer = Boolean(config.build.ssr);
		},
		generateBundle(_, bundle) {
			if (forServer) return;
			const folders = new Set<string>();
			for (const file of Object.values(bundle)) {
				if (file.type !== 'chunk') continue;
				for (const [id, part] of Object.entries(file.modules)) {
					const folder = packageFolder(id);
					if (folder && part.renderedLength > 0) folders.add(folder);
				}
			}
			const texts = [...folders].map(licenceText).sort();
			this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: texts.join('\n') });
		}
	};
}

function packageFolder(id: string): string | undefined {
	return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
}

function licenceText(folder: string): string {
	const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
		name: string;
		version: string;
		license: string;
	};
	const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.|$)/i.test(entry));
	const path = file && join(folder, file);
	const text = path && existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
	return `${name} ${version} (${license})\n${'-'.repeat(60)}\n${text}\n`;
}
