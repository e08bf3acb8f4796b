import { sveltekit } from '@sveltejs/kit/vite';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vitest/config';
import { chunks } from './scripts/chunks';
import { licences } from './scripts/licences';

export default defineConfig({
	plugins: [tailwindcss(), sveltekit(), chunks(), licences()],
	build: {
		target: 'es2023',
		modulePreload: { polyfill: false },
		assetsInlineLimit: 0,
		sourcemap: false
	},
	server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/health': 'http://127.0.0.1:8080' } },
	test: { include: ['tests/**/*.test.ts'], environment: 'node' }
});
