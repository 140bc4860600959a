import ServiceKit
import Workouts

/// What a page of operators is made of.
struct Overview: Sendable {
    var table: OperatorTable
    /// The newest messages of each row.
    var frames: [(state: EventFrame?, metrics: EventFrame?)] = []
    var services: [String: [ProcessName: Hub.Process]] = [:]
    var link: BrokerLink
    var news = BrokerNews()
}

/// Renders the operator page: once for each request, and every 2 s one event for each view that streams show.
struct OperatorPages: Sendable {
    /// How long a page waits for the metrics and figures that the broker retains.
    private static let warmUp = Duration.milliseconds(500)

    let hub: LiveHub
    let connection: OperatorConnection
    let clock: any WallClock

    /// Subscribes to what the page shows. The first page waits for it.
    func prepare(_ login: Login) async throws {
        let isWarm = connection.isOpen
        connection.use(login)
        guard !hub.needAllMetrics() || !isWarm else { return }
        try await clock.wait(for: Self.warmUp)
    }

    func content(_ view: OperatorView) -> OperatorContent {
        var overview = hub.overview(view)
        overview.news = connection.news
        return OperatorContent(overview, units: view.units, now: clock.now)
    }

    /// Ten times a second.
    func tick() {
        guard hub.hasOperators else { return }
        let views = hub.takeOverviews()
        if !views.isEmpty { connection.keep() }
        for view in views { hub.show(.json(.overview, content(view)), to: view) }
    }
}
