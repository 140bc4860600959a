import Foundation
import NIOHTTP1
import ServiceKit
import Workouts

/// APNs' response to a push.
///
/// The timestamp that APNs adds to status 410 is ignored: the push's own token is removed, and a later registration wins.
struct APNsAnswer: Equatable, Sendable {
    /// The consequence of a response.
    enum Consequence: Equatable, Sendable {
        case settled(PushOutcome)
        /// The push may succeed with a new provider token.
        case newToken
        /// The push may succeed shortly, or after this many seconds.
        case retry(after: Double?)
    }

    /// The longest `Retry-After` that is honored, in seconds.
    static let longestPause = 3_600.0
    /// The pause after too many provider token updates, in seconds.
    private static let tokenPause = 60.0

    let status: Int
    /// APNs' documented reason, or an unknown word.
    let reason: String?
    /// Seconds.
    let retryAfter: Double?

    init(status: Int, reason: String? = nil, retryAfter: Double? = nil) {
        self.status = status
        self.reason = reason
        self.retryAfter = retryAfter
    }

    init(status: Int, headers: HTTPHeaders, body: [UInt8], now: Timestamp) {
        self.init(
            status: status, reason: Self.reason(body),
            retryAfter: headers.first(name: "Retry-After").flatMap(RetryAfter.init)
                .map { min($0.seconds(from: now), Self.longestPause) })
    }

    var consequence: Consequence {
        switch (status, reason) {
        case (200, _): .settled(.delivered)
        case (410, _), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"):
            .settled(.tokenGone(reason: description))
        case (403, "ExpiredProviderToken"): .newToken
        case (429, "TooManyProviderTokenUpdates"):
            .settled(.failed(reason: description, retryAfter: retryAfter ?? Self.tokenPause))
        case (429, _), (500..., _): .retry(after: retryAfter)
        default: .settled(.refused(reason: description))
        }
    }

    /// The status and reason, for messages.
    var description: String { reason.map { "\(status) \($0)" } ?? "\(status)" }

    /// The reason in a body. Accepts a single word only: it is published and logged, and a proxy may return any text.
    private static func reason(_ body: [UInt8]) -> String? {
        guard let reason = try? JSONDecoder().decode(Body.self, from: Data(body)).reason,
            (1...64).contains(reason.utf8.count), reason.utf8.allSatisfy(\.isLetter)
        else { return nil }
        return reason
    }

    private struct Body: Decodable {
        let reason: String
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self)
    }
}
