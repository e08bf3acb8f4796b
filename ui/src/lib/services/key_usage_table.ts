import type { KeyUsageSum } from '$lib/services/account';
import type { TableModel } from '$lib/services/table';
import { MEASURES } from '$lib/services/usage';
import { text } from '$lib/text';

/** Rare amounts wait under "Columns". */
const RARE: readonly string[] = ['audio_seconds', 'images', 'pixel_steps'];

export const KEY_USAGE_TABLE: TableModel<KeyUsageSum> = {
	columns: [
		{ id: 'model', title: text.usage.model, value: ({ model }) => model, shown: 'always', card: 'name' },
		{ id: 'key', title: text.account.key, value: ({ key }) => key, shown: 'always', card: 'fact' },
		...MEASURES.map((measure) => ({
			id: measure,
			title: text.usage.measures[measure],
			value: (row: KeyUsageSum) => row[measure],
			isLargestFirst: true,
			isNumber: true,
			...(RARE.includes(measure) ? { shown: 'chosen' as const } : { card: 'fact' as const })
		}))
	],
	filters: [],
	searched: ({ model, key }) => [model, key],
	key: ({ id }) => id,
	sort: 'output_tokens',
	isDescending: true
};
