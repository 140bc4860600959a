import Foundation
import NIOHTTP1
import ServiceKit
import Workouts

/// What APNs said to a push.
///
/// When a token is gone, APNs adds since when, for those that a device might register again unchanged. That is not read: it
/// is the token of the push that is dropped, and whatever is registered afterwards counts.
struct APNsAnswer: Equatable, Sendable {
    /// What follows from an answer.
    enum Consequence: Equatable, Sendable {
        case settled(PushOutcome)
        /// The push may pass with a new provider token.
        case newToken
        /// The push may pass in a moment, or after this many seconds.
        case retry(after: Double?)
    }

    /// What APNs wants beyond this, in seconds, is not waited for.
    static let longestPause = 3_600.0
    /// Seconds to wait when provider tokens changed too often.
    private static let tokenPause = 60.0

    let status: Int
    /// One of the words that APNs documents, or another.
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

    /// The status with the reason, as people are told.
    var description: String { reason.map { "\(status) \($0)" } ?? "\(status)" }

    /// The reason in a body. Only a word counts: it is published and logged, and a proxy may answer with anything.
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
