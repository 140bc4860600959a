import ServiceKit
import Storage

extension WeatherFetcher {
    /// Opens the store, unless the caller passes one, and wires the service to the broker and the provider.
    static func build(
        _ context: ServiceContext, _ weather: WeatherConfiguration, store: (any Store)? = nil,
        timeout: Duration = WeatherSource.timeout
    ) throws -> WeatherFetcherService {
        WeatherFetcherService(
            context: context, weather: weather, store: try store ?? context.openStore(WeatherRecord.schema),
            timeout: timeout)
    }
}
