import AsyncHTTPClient
import Bus
import Logging
import MQTT
import ServiceKit
import ServiceLifecycle
import Storage
import Workouts

/// Runs the loop on the bus and the store. Requests to the provider run concurrently and never delay the loop.
struct WeatherFetcherService: Service {
    let context: ServiceContext
    let weather: WeatherConfiguration
    let store: any Store
    /// The timeout of a request to the provider.
    let timeout: Duration

    func run() async throws {
        let provider = weather.provider
        context.logger.info(
            "weather provider configured",
            metadata: [LogKey.provider: "\(provider.map { type(of: $0).name } ?? "none")"])
        var loop = WeatherFetcherLoop(context: context, machine: machine(provider), store: store)
        try await HTTPClient.withHTTPClient(configuration: WeatherSource.http(timeout)) { client in
            let source = provider.map {
                WeatherSource($0, weather, clock: context.clock, client: client, timeout: timeout)
            }
            let answers = Inbox<WeatherAnswer>()
            try await withThrowingDiscardingTaskGroup { requests in
                defer { requests.cancelAll() }
                try await context.serve(store: store, subscriptions: Self.subscriptions) { event in
                    try await loop.handle(event, answers: answers.take())
                    guard let source else { return }
                    for request in loop.requests() {
                        requests.addTask { answers.add(await source.ask(request)) }
                    }
                }
            }
        }
        await loop.finish()
        await context.close(store)
    }

    private func machine(_ provider: (any WeatherProvider)?) -> WeatherFetcherMachine {
        guard let provider else { return WeatherFetcherMachine(provider: nil) }
        // The budget is a limit of the public server.
        let budget = weather.url == nil ? type(of: provider).budget : nil
        return WeatherFetcherMachine(provider: type(of: provider).name, budget: budget)
    }

    private static func subscriptions(_ shards: Set<Shard>) -> [MQTTSubscription] {
        [SessionTopic.Kind.state, .weather, .heardLocations].flatMap { TopicFilter.sessions($0, shards: shards) }
    }
}
