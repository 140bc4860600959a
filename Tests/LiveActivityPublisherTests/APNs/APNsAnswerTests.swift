import NIOHTTP1
import NIOSSL
import Testing
import Workouts

@testable import LiveActivityPublisher

struct APNsAnswerTests {
    private func consequence(_ status: Int, _ reason: String? = nil) -> APNsAnswer.Consequence {
        APNsAnswer(status: status, reason: reason).consequence
    }

    private func read(_ body: String, headers: HTTPHeaders = [:]) -> APNsAnswer {
        APNsAnswer(status: 400, headers: headers, body: Array(body.utf8), now: Timestamp(seconds: 1_735_689_600))
    }

    @Test func `an expired token is reported as such`() {
        for (status, reason) in [
            (410, "Unregistered"), (410, "ExpiredToken"), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"),
        ] {
            #expect(consequence(status, reason) == .settled(.tokenGone(reason: "\(status) \(reason)")))
        }
        #expect(consequence(410) == .settled(.tokenGone(reason: "410")))
    }

    @Test(arguments: [
        (400, "BadCollapseId"), (400, "BadExpirationDate"), (400, "BadMessageId"), (400, "BadPriority"),
        (400, "BadTopic"), (400, "DuplicateHeaders"), (400, "IdleTimeout"), (400, "InvalidPushType"),
        (400, "MissingDeviceToken"), (400, "MissingTopic"), (400, "PayloadEmpty"), (400, "TopicDisallowed"),
        (403, "BadCertificate"), (403, "BadCertificateEnvironment"), (403, "Forbidden"), (403, "InvalidProviderToken"),
        (403, "MissingProviderToken"), (403, "UnrelatedKeyIdInToken"), (403, "BadEnvironmentKeyIdInToken"),
        (404, "BadPath"), (405, "MethodNotAllowed"), (413, "PayloadTooLarge"),
        (400, "SomethingNew"),
    ])
    func `an invalid request is not retried`(status: Int, reason: String) {
        #expect(consequence(status, reason) == .settled(.refused(reason: "\(status) \(reason)")))
    }

    @Test func `a temporary failure is retried`() {
        #expect(consequence(429, "TooManyRequests") == .retry(after: nil))
        #expect(consequence(500, "InternalServerError") == .retry(after: nil))
        #expect(consequence(503, "ServiceUnavailable") == .retry(after: nil))
        #expect(consequence(503, "Shutdown") == .retry(after: nil))
        #expect(consequence(502) == .retry(after: nil))
        #expect(APNsAnswer(status: 429, reason: "TooManyRequests", retryAfter: 7).consequence == .retry(after: 7))
        #expect(consequence(403, "ExpiredProviderToken") == .newToken)
    }

    @Test func `too many provider token updates pause requests`() {
        let reason = "429 TooManyProviderTokenUpdates"
        let word = "TooManyProviderTokenUpdates"
        #expect(consequence(429, word) == .settled(.failed(reason: reason, retryAfter: 60)))
        #expect(
            APNsAnswer(status: 429, reason: word, retryAfter: 77).consequence
                == .settled(.failed(reason: reason, retryAfter: 77)))
    }

    @Test(arguments: [204, 301, 302, 418])
    func `an unknown response is not retried`(status: Int) {
        #expect(consequence(status) == .settled(.refused(reason: "\(status)")))
    }

    @Test func `a body's reason counts if it is a single word`() {
        #expect(read(#"{"reason":"BadDeviceToken"}"#).reason == "BadDeviceToken")
        #expect(read(#"{"timestamp":1735689600123,"reason":"Unregistered"}"#).reason == "Unregistered")
        for body in [
            "", "{}", "[]", #"{"reason":""}"#, #"{"reason":5}"#, #"{"reason":"two words"}"#, "<html>no</html>",
            #"{"reason":"line\nend"}"#, #"{"reason":"\#(String(repeating: "a", count: 65))"}"#, "\u{0}",
        ] {
            #expect(read(body).reason == nil, "\(body)")
            #expect(read(body).description == "400")
        }
    }

    @Test func `a Retry-After is honored up to an hour`() {
        #expect(read("", headers: ["retry-after": "77"]).retryAfter == 77)
        #expect(read("", headers: ["Retry-After": "Wed, 01 Jan 2025 00:02:00 GMT"]).retryAfter == 120)
        #expect(read("", headers: ["retry-after": "4294967295"]).retryAfter == 3_600)
        #expect(read("", headers: ["retry-after": "soon"]).retryAfter == nil)
    }

    @Test func `a host name mismatch has a readable reason`() {
        #expect(APNsClient.reason(NIOSSLExtraError.failedToValidateHostname) == "the certificate is for another name")
    }
}
