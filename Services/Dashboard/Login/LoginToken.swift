import Crypto
import Foundation
import MQTT

/// The secret of a login's cookie: 32 random bytes. The store keeps its SHA-256, and the password sealed under a key that
/// only the token yields, so a stolen store opens no login.
struct LoginToken: Equatable, Sendable {
    static let length = 32

    private let bytes: [UInt8]

    /// Draws a token.
    init() {
        bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    }

    /// Reads a cookie's value.
    init?(_ text: String) {
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        guard text.utf8.count == 43, let data = Data(base64Encoded: base64 + "="), data.count == Self.length else {
            return nil
        }
        bytes = Array(data)
    }

    /// The cookie's value: base64url without padding.
    var text: String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    var id: LoginID {
        LoginID(SHA256.hash(data: bytes).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())
    }

    /// Seals the account's password. The account is authenticated with it, so that records cannot be exchanged.
    func seal(_ password: Secret, for account: AccountName) -> [UInt8] {
        do {
            let box = try AES.GCM.seal(
                Data(password.value.utf8), using: key, authenticating: Data(account.description.utf8))
            return Array(box.combined ?? Data())
        } catch {
            preconditionFailure("AES-GCM refuses no key of 256 bits: \(error)")
        }
    }

    /// `nil` if another token or another account sealed it.
    func open(_ sealed: [UInt8], for account: AccountName) -> Secret? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let data = try? AES.GCM.open(box, using: key, authenticating: Data(account.description.utf8))
        else { return nil }
        return Secret(String(decoding: data, as: UTF8.self))
    }

    private var key: SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes), info: Data("pacebus dashboard password".utf8),
            outputByteCount: 32)
    }
}
