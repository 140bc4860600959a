import AsyncHTTPClient
import Bus
import NIOCore
import NIOHTTP1
import ServiceKit
import Workouts

/// Requests weather from a provider over HTTP. Every failure is returned as an answer.
struct WeatherSource: Sendable {
    /// The timeout for the response head; the whole response may take twice as long.
    static let timeout = Duration.seconds(10)
    /// The largest response body that is read, in bytes. MET Norway's, the longest, is under 100 KiB.
    static let sizeLimit = 1 << 20

    let provider: any WeatherProvider
    let url: String
    let contact: String?
    let clock: any WallClock
    let client: HTTPClient
    let timeout: Duration

    /// - Parameter timeout: for the response head.
    init(
        _ provider: any WeatherProvider, _ configuration: WeatherConfiguration, clock: any WallClock,
        client: HTTPClient, timeout: Duration = Self.timeout
    ) {
        self.provider = provider
        url = configuration.url ?? type(of: provider).url
        contact = configuration.contact
        self.clock = clock
        self.client = client
        self.timeout = timeout
    }

    /// The HTTP client configuration that ``ask(_:)`` relies on.
    static func http(_ timeout: Duration) -> HTTPClient.Configuration {
        var pool = HTTPClient.Configuration.ConnectionPool()
        pool.concurrentHTTP1ConnectionsPerHostSoftLimit = WeatherFetcherMachine.concurrency
        // The machine schedules retries.
        pool.retryConnectionEstablishment = false
        return HTTPClient.Configuration(
            redirectConfiguration: .follow(max: 3, allowCycles: false),
            timeout: HTTPClient.Configuration.Timeout(connect: TimeAmount(timeout), read: TimeAmount(timeout)),
            connectionPool: pool)
    }

    func ask(_ request: WeatherRequest) async -> WeatherAnswer {
        let began = ContinuousClock.now
        let outcome: WeatherAnswer.Outcome
        do {
            outcome = try await exchangeInTime(request)
        } catch let failure as WeatherFetchFailure {
            outcome = .failed(failure)
        } catch let error as HTTPClientError {
            outcome = .failed(.unreachable(error.shortDescription))
        } catch is NIOTooManyBytesError {
            outcome = .failed(.unreadable("response larger than \(Self.sizeLimit) bytes"))
        } catch {
            outcome = .failed(.unreachable("\(error)"))
        }
        return WeatherAnswer(cell: request.cell, outcome: outcome, took: ContinuousClock.now - began)
    }

    /// The HTTP client's timeouts cover the response head only, so a slow body needs its own.
    private func exchangeInTime(_ request: WeatherRequest) async throws -> WeatherAnswer.Outcome {
        try await withThrowingTaskGroup(of: WeatherAnswer.Outcome?.self) { group in
            group.addTask { try await exchange(request) }
            group.addTask {
                try await Task.sleep(for: timeout * 2)
                return nil
            }
            defer { group.cancelAll() }
            guard let outcome = try await group.next() ?? nil else {
                throw WeatherFetchFailure.unreachable("the response body timed out")
            }
            return outcome
        }
    }

    private func exchange(_ request: WeatherRequest) async throws -> WeatherAnswer.Outcome {
        var message = HTTPClientRequest(url: url + provider.path(request.cell))
        message.headers.add(name: "Accept", value: "application/json")
        message.headers.add(name: "User-Agent", value: userAgent)
        for (name, value) in try await provider.headers(now: clock.now) {
            message.headers.add(name: name, value: value)
        }
        if let validator = request.validator { message.headers.add(name: "If-Modified-Since", value: validator) }
        let response = try await client.execute(message, timeout: TimeAmount(timeout))
        let caching = Caching(
            expiresAt: response.headers.first(name: "Expires").flatMap { Timestamp(httpDate: $0) },
            validator: response.headers.first(name: "Last-Modified"))
        switch response.status.code {
        case 200...203: return try await read(response, caching)
        case 304 where request.validator != nil: return .unchanged(caching)
        case let code: throw failure(Int(code), response.headers)
        }
    }

    private func read(_ response: HTTPClientResponse, _ caching: Caching) async throws -> WeatherAnswer.Outcome {
        let body = try await response.body.collect(upTo: Self.sizeLimit)
        do throws(PayloadError) {
            let answer = try provider.read([UInt8](body.readableBytesView))
            guard answer.observation.isPlausible else { throw .malformed("implausible temperature") }
            var caching = caching
            caching.expiresAt = answer.expiresAt ?? caching.expiresAt
            return .observed(answer.observation.plausible, caching)
        } catch {
            throw WeatherFetchFailure.unreadable(error.text)
        }
    }

    private func failure(_ status: Int, _ headers: HTTPHeaders) -> WeatherFetchFailure {
        switch status {
        case 401, 403: .refused(status: status)
        case 408, 425, 429, 500...:
            .overloaded(status: status, headers.first(name: "Retry-After").flatMap(RetryAfter.init))
        default: .unavailable(status: status)
        }
    }

    private var userAgent: String {
        let product = "pacebus/\(pacebusVersion)"
        return contact.map { "\(product) (\($0))" } ?? product
    }
}
