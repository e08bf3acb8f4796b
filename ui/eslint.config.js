import js from '@eslint/js';
import svelte from 'eslint-plugin-svelte';
import globals from 'globals';
import ts from 'typescript-eslint';
import svelteConfig from './svelte.config.js';

/** The layers, the highest first: a file imports from its own layer and from lower ones only. */
const LAYERS = ['routes', 'components', 'hooks', 'stores', 'services', 'storage', 'api'];

const layerRules = LAYERS.map((layer, at) => ({
	files: [layer === 'routes' ? 'src/routes/**' : `src/lib/${layer}/**`],
	rules: {
		'no-restricted-imports': [
			'error',
			{
				patterns: [
					{
						regex: '^(\\.\\./)+(' + LAYERS.join('|') + ')(/|$)',
						message: 'Import another layer by its full name: $lib/<layer>/...'
					},
					...LAYERS.slice(0, at).map((higher) => ({
						regex: higher === 'routes' ? '(^|/)routes(/|$)' : `^\\$lib/${higher}(/|$)`,
						message: `${layer} is below ${higher}: imports run downwards.`
					}))
				]
			}
		]
	}
}));

export default ts.config(
	{ ignores: ['.svelte-kit/', 'node_modules/', 'src/lib/api/schema.d.ts'] },
	js.configs.recommended,
	...ts.configs.strict,
	...svelte.configs.recommended,
	{
		languageOptions: { globals: { ...globals.browser, ...globals.node } },
		rules: {
			'svelte/no-at-html-tags': 'error',
			'no-eval': 'error',
			'no-restricted-globals': [
				'error',
				{ name: 'localStorage', message: 'Only src/lib/services/preferences.ts stores anything, and never a key.' },
				{ name: 'sessionStorage', message: 'Nothing is stored there.' }
			]
		}
	},
	{
		files: ['**/*.svelte', '**/*.svelte.ts'],
		languageOptions: { parserOptions: { parser: ts.parser, extraFileExtensions: ['.svelte'], svelteConfig } }
	},
	{ files: ['src/lib/services/preferences.ts'], rules: { 'no-restricted-globals': 'off' } },
	...layerRules
);
