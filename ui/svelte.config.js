import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import adapter from '@sveltejs/adapter-static';
import { vitePreprocess } from '@sveltejs/vite-plugin-svelte';

/** The folder of the built files; `make ui-check` builds into another one. */
const output = process.env.STOKER_UI_OUTPUT ?? '../api/static/ui';

/**
 * The version of the build: a digest of its sources, since SvelteKit's default is the time and two builds of one
 * source have to be equal. The API's types are left out, of which the browser gets nothing.
 */
function sourceDigest() {
	const hash = createHash('sha256');
	const files = ['package-lock.json', 'svelte.config.js', 'vite.config.ts', ...filesBelow('src'), ...filesBelow('static')];
	for (const file of files) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
	return hash.digest('hex').slice(0, 16);
}

function filesBelow(folder) {
	return readdirSync(folder, { recursive: true, withFileTypes: true })
		.filter((entry) => entry.isFile())
		.map((entry) => join(entry.parentPath, entry.name))
		.filter((file) => !file.endsWith('schema.d.ts'))
		.sort();
}

/**
 * SvelteKit's component for screen readers hides itself by a style attribute, which the Content Security Policy refuses:
 * it gets the class that does the same.
 */
const announcer = {
	markup({ content, filename }) {
		if (!/\.svelte-kit[/\\]generated[/\\]root\.svelte$/.test(filename ?? '')) return;
		const code = content.replace(/(<div id="svelte-announcer"[^>]*?) style="[^"]*"/, '$1 class="sr-only"');
		if (code === content) throw new Error('SvelteKit has changed its announcer: look for its style attribute');
		return { code };
	}
};

/** @type {import('@sveltejs/kit').Config} */
export default {
	preprocess: [announcer, vitePreprocess()],
	compilerOptions: { runes: true },
	kit: {
		adapter: adapter({ pages: output, assets: output, precompress: false, strict: true }),
		// relative addresses: the same files work at /ui and behind a reverse proxy at /any/prefix/ui
		paths: { relative: true },
		version: { name: sourceDigest(), pollInterval: 0 },
		prerender: { handleHttpError: 'fail' }
	}
};
