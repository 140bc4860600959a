import ServiceKit

extension WeatherFetcher {
    /// Opens the store and wires the service to the broker and the provider.
    static func build(_ context: ServiceContext, _ weather: WeatherConfiguration) throws -> WeatherFetcherService {
        WeatherFetcherService(context: context, weather: weather, store: try context.openStore(WeatherRecord.schema))
    }
}
