import { browser } from '$app/environment';
import { afterNavigate, replaceState } from '$app/navigation';
import { page } from '$app/state';
import { usePolled, type Polled } from '$lib/hooks/polled.svelte';
import { useTableView } from '$lib/hooks/table_view.svelte';
import { givenFilters, placeOf } from '$lib/services/filter_values';
import { withParameter, type TableModel, type View } from '$lib/services/table';

type Place = string | undefined;

/** A list that the API filters and gives in pages. */
export interface FilteredPages<Found> {
	view: View;
	/** The filters that have a value. */
	readonly filters: Record<string, string>;
	/** Behind which record each page begins, from the first one that was shown to the present one; undefined: the newest. */
	places: readonly Place[];
	/** It grows with each navigation, after which the fields of a form are those of the new address. */
	readonly arrivals: number;
	/** What was read for these filters; undefined before. */
	readonly value: Found | undefined;
	/** Whether the first answer for these filters is on its way. */
	readonly isReading: boolean;
	/** The source for the page's frame: the form of the filters is shown before there is a value, too. */
	readonly source: Pick<Polled<true>, 'value' | 'state' | 'staleSince' | 'problem'>;
	/** Show the newest records that fit these filters. */
	apply: (filters: Record<string, string>) => void;
	refresh: () => Promise<void>;
}

/** Read such a list in a component. The filters and the page are in the address: a link opens them, and a navigation sets them. */
export function useFilteredPages<Row, Found>(
	model: TableModel<Row>,
	read: (filters: Record<string, string>, after: Place) => Promise<Found>
): FilteredPages<Found> {
	const view = useTableView(model);
	const filters = $derived(givenFilters(view.value.filters));
	const asked = $derived(JSON.stringify(filters));
	let places: readonly Place[] = $state.raw([placeOf(browser ? page.url.search : '')]);
	let arrivals = $state(0);
	afterNavigate(({ to }) => {
		places = [placeOf(to?.url.search ?? '')];
		arrivals += 1;
	});
	const polled = usePolled(async () => {
		const of = asked;
		return { of, found: await read(filters, places.at(-1)) };
	}, 5_000);
	const value = $derived(polled.value?.of === asked ? polled.value.found : undefined);

	function setPlaces(wanted: readonly Place[]): void {
		places = wanted;
		const query = withParameter(location.search, 'after', wanted.at(-1));
		// eslint-disable-next-line svelte/no-navigation-without-resolve -- the present page, with another query
		replaceState(`${location.pathname}${query}${location.hash}`, page.state);
	}

	return {
		get view() {
			return view.value;
		},
		set view(wanted) {
			view.value = wanted;
		},
		get filters() {
			return filters;
		},
		get places() {
			return places;
		},
		set places(wanted) {
			setPlaces(wanted);
		},
		get arrivals() {
			return arrivals;
		},
		get value() {
			return value;
		},
		get isReading() {
			return value === undefined && (polled.state === 'loading' || polled.state === 'live');
		},
		get source() {
			return { value: true as const, state: polled.state, staleSince: polled.staleSince, problem: polled.problem };
		},
		apply(wanted) {
			view.value = { ...view.value, filters: wanted };
			setPlaces([undefined]);
		},
		refresh: () => polled.refresh()
	};
}
