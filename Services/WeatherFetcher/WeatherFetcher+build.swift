import ServiceKit
import Storage

extension WeatherFetcher {
    /// Opens the store, unless the caller passes one, and wires the service to the broker and the provider.
    ///
    /// One replica owns all shards, because the cells in memory and the provider's limits are those of a process.
    static func build(
        _ context: ServiceContext, _ weather: WeatherConfiguration, store: (any Store)? = nil,
        timeout: Duration = WeatherSource.timeout
    ) throws -> WeatherFetcherService {
        WeatherFetcherService(
            context: context, weather: weather,
            store: try store ?? context.openStore(WeatherRecord.schema, sharing: .single), timeout: timeout)
    }
}
