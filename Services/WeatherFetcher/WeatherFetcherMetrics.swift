import Bus
import Metrics
import ServiceKit
import Workouts

/// The service's Prometheus metrics.
struct WeatherFetcherMetrics {
    private static let prefix = "pacebus_weather_"

    private let factory: PrometheusMetrics
    private let messages: Counter
    private let requestTime: Timer
    private let sessions: Meter
    private let unplaced: Meter
    private let cells: Meter
    private let isAsked: Meter

    init(_ factory: PrometheusMetrics) {
        self.factory = factory
        factory.describe(Self.help)
        factory.begin(Self.prefix + "rejected_total", "reason", Rejection.reasons)
        let outcomes = ["observed", "unchanged"] + WeatherFetchFailure.Kind.allCases.map(\.rawValue)
        factory.begin(Self.prefix + "requests_total", "outcome", outcomes)
        messages = Counter(label: Self.prefix + "messages_total", factory: factory)
        requestTime = Timer(label: Self.prefix + "request_seconds", factory: factory)
        sessions = Meter(label: Self.prefix + "sessions", factory: factory)
        unplaced = Meter(label: Self.prefix + "sessions_without_place", factory: factory)
        cells = Meter(label: Self.prefix + "cells", factory: factory)
        isAsked = Meter(label: Self.prefix + "provider_up", factory: factory)
    }

    func received(_ count: Int) {
        messages.increment(by: count)
    }

    func rejected(_ reason: String) {
        count("rejected_total", "reason", reason)
    }

    func answered(_ answer: WeatherAnswer) {
        requestTime.record(duration: answer.took)
        let outcome =
            switch answer.outcome {
            case .observed: "observed"
            case .unchanged: "unchanged"
            case .failed(let failure): failure.kind.rawValue
            }
        count("requests_total", "outcome", outcome)
    }

    func show(_ machine: WeatherFetcherMachine) {
        sessions.set(machine.liveCount)
        unplaced.set(machine.unplacedCount)
        cells.set(machine.cells.count)
        isAsked.set(machine.breaker.failures == 0 ? 1 : 0)
    }

    private func count(_ name: String, _ label: String, _ value: String) {
        Counter(label: Self.prefix + name, dimensions: [(label, value)], factory: factory).increment()
    }

    private static let help = [
        prefix + "messages_total": "Messages handled.",
        prefix + "rejected_total": "Payloads rejected as invalid, by reason.",
        prefix + "requests_total": "Requests to the provider, by outcome.",
        prefix + "request_seconds": "Time until the provider responded, in seconds.",
        prefix + "sessions": "Live sessions.",
        prefix + "sessions_without_place": "Live sessions without a known place.",
        prefix + "cells": "Weather cells of 0.01 degrees in memory.",
        prefix + "provider_up": "1 if the provider's last response was usable, else 0.",
    ]
}
