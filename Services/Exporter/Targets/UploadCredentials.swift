import Foundation
import MQTT
import ServiceKit
import Workouts

/// What users are known by where their workouts are uploaded to: a folder with a file for each of them.
///
/// Files are read whenever they are needed, so what is changed, added or taken away counts at once.
struct UploadCredentials: Sendable {
    enum Problem: Error, Equatable {
        /// Until somebody mends it.
        case unusable(String)
        /// It may be there another time.
        case unreadable(String)
    }

    let folder: String

    /// Whether there is a file for a user.
    func has(_ user: User) -> Bool {
        access(path(of: user), F_OK) == 0
    }

    /// The value of the header `Authorization`.
    ///
    /// - Throws: `Problem`, with a text for people that tells nothing of what stands in the file.
    func authorization(of user: User) throws(Problem) -> Secret {
        let line = try read(user)
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch words.first?.lowercased() {
        case "bearer" where words.count == 2 && words[1].utf8.allSatisfy { (0x21...0x7e).contains($0) }:
            return Secret("Bearer \(words[1])")
        case "basic" where words.count == 2 && words[1].contains(":"):
            return Secret("Basic \(Data(words[1].utf8).base64EncodedString())")
        default:
            throw .unusable(
                "the credentials of \(user) are not one line 'bearer TOKEN' or 'basic NAME:PASSWORD'")
        }
    }

    /// The one line in a user's file; empty when there are others.
    private func read(_ user: User) throws(Problem) -> String {
        do throws(PasswordFile.Problem) {
            let text = try PasswordFile(path: path(of: user)).read()
            return text.value.contains(where: \.isNewline) ? "" : text.value
        } catch {
            switch error {
            case .unreadable where has(user): throw .unreadable("the credentials of \(user): \(error)")
            case .unreadable: throw .unusable("there are no credentials of \(user)")
            case .readableByOthers, .empty: throw .unusable("the credentials of \(user): \(error)")
            }
        }
    }

    private func path(of user: User) -> String {
        "\(folder)/\(user)"
    }
}
