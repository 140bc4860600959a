import ServiceKit

extension MetricsAggregator {
    /// Opens the store and wires the service to the broker.
    static func build(_ context: ServiceContext) throws -> MetricsAggregatorService {
        MetricsAggregatorService(context: context, store: try context.openStore(AggregatorStore.schema))
    }
}
