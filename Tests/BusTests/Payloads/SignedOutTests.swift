import Bus
import Foundation
import Testing
import Workouts

struct SignedOutTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    @Test func `a login is named once, and for thirty days`() {
        var signedOut = SignedOut()
        signedOut.end(.one("a"), revision: 1, at: Self.now)
        signedOut.end(.one("a"), revision: 2, at: Self.now)
        #expect(signedOut.logins.map(\.id) == ["a"] && signedOut.before == nil)
        signedOut.end(.one("b"), revision: 3, at: Timestamp(seconds: Self.now.seconds + 31 * 86_400))
        #expect(signedOut.logins.map(\.id) == ["b"] && signedOut.revision == 3)
    }

    @Test func `one login beyond the limit ends all, and a clock that steps backwards brings none back`() {
        var signedOut = SignedOut()
        for number in 0..<SignedOut.limit { signedOut.end(.one("a\(number)"), revision: 1, at: Self.now) }
        #expect(signedOut.logins.count == SignedOut.limit && signedOut.before == nil)
        signedOut.end(.one("b"), revision: 2, at: Self.now)
        #expect(signedOut.logins.isEmpty && signedOut.before == Self.now)
        signedOut.end(.all, revision: 3, at: Timestamp(seconds: Self.now.seconds - 60))
        #expect(signedOut.before == Self.now)
    }

    @Test(arguments: [
        #"{"id":"6f9619ff-8b86-4d01-b42d-00c04fc964ff","type":"some"}"#,
        #"{"id":"6f9619ff-8b86-4d01-b42d-00c04fc964ff","type":"one"}"#,
        #"{"id":"6f9619ff-8b86-4d01-b42d-00c04fc964ff","type":"one","login":"A"}"#,
        #"{"id":"6f9619ff-8b86-4d01-b42d-00c04fc964ff","type":"one","login":""}"#, #"{"type":"all"}"#,
    ])
    func `a request that names no login is refused`(payload: String) {
        #expect(throws: (any Error).self) { try JSONDecoder().decode(SignOut.self, from: Data(payload.utf8)) }
    }
}
